/* Starts a command without copying this process.
 *
 * A fork copies the page tables of the agent, and then each page that it or its child writes to
 * before the command takes the child's place; that cost a short command more than its own work.
 * With vfork the child borrows the memory of its parent, which waits, so between here and execve
 * nothing may be written but local variables, and no Python may run.
 *
 * The child does what `_become_command` in child.py does: a session of its own, death with its
 * parent, output to the log, its folder, its limits.
 */

#define PY_SSIZE_T_CLEAN
#define _GNU_SOURCE
#include <Python.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIMITS_MAX 8
#define NOT_STARTED 127

struct command {
    const char *path, *cwd;
    char **argv, **env;
    int log_fd, limits;
    volatile int error; /* why it cannot be run: written by the child, read by the parent */
    int resources[LIMITS_MAX];
    struct rlimit most[LIMITS_MAX];
    pid_t parent;
    sigset_t mask;
};

/* In the child, which shares the memory of its parent: returns only by its end. */
static void
become(struct command *command)
{
    struct sigaction action;
    int number;

    /* The handlers of the agent must not run here; this table is a copy of its own. */
    for (number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN
            && action.sa_handler != SIG_DFL) {
            memset(&action, 0, sizeof action);
            action.sa_handler = SIG_DFL;
            sigaction(number, &action, NULL);
        }
    }
    sigprocmask(SIG_SETMASK, &command->mask, NULL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != command->parent)
        _exit(1);
    if (dup2(command->log_fd, 1) < 0 || dup2(command->log_fd, 2) < 0)
        goto failed;
    if (command->cwd != NULL && chdir(command->cwd) != 0)
        goto failed;
    for (number = 0; number < command->limits; number++)
        if (setrlimit(command->resources[number], &command->most[number]) != 0)
            goto failed;
    execve(command->path, command->argv, command->env);
failed:
    command->error = errno;
    _exit(NOT_STARTED);
}

/* The words of a list of bytes, ended by NULL. The list owns the words, the caller the array. */
static char **
words(PyObject *list)
{
    Py_ssize_t length = PyList_GET_SIZE(list);
    char **array = PyMem_Calloc(length + 1, sizeof *array);

    if (array == NULL)
        return (char **)PyErr_NoMemory();
    for (Py_ssize_t number = 0; number < length; number++) {
        if (PyBytes_AsStringAndSize(PyList_GET_ITEM(list, number), &array[number], NULL) != 0) {
            PyMem_Free(array);
            return NULL;
        }
    }
    return array;
}

static int
read_limits(PyObject *limits, struct command *command)
{
    Py_ssize_t length = PyList_GET_SIZE(limits);
    long long most;

    if (length > LIMITS_MAX) {
        PyErr_SetString(PyExc_ValueError, "too many limits");
        return -1;
    }
    for (Py_ssize_t number = 0; number < length; number++) {
        PyObject *pair = PyList_GET_ITEM(limits, number);
        if (!PyArg_ParseTuple(pair, "iL", &command->resources[number], &most))
            return -1;
        command->most[number].rlim_cur = command->most[number].rlim_max = (rlim_t)most;
    }
    command->limits = (int)length;
    return 0;
}

static pid_t
start(struct command *command)
{
    sigset_t all;
    pid_t pid;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &command->mask);
    pid = vfork();
    if (pid == 0)
        become(command);
    sigprocmask(SIG_SETMASK, &command->mask, NULL);
    return pid;
}

PyDoc_STRVAR(spawn_doc,
"spawn(path, argv, env, cwd, log_fd, limits)\n--\n\n"
"Start a command as a child of this process; returns its process id, and 0 or the number of the\n"
"error that kept it from running: then it exits with 127.\n\n"
"argv and env are lists of bytes, cwd is bytes or None, limits a list of (resource, most).\n"
"Raises OSError where there is no room for a process.");

static PyObject *
spawn(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *argv, *env, *cwd, *limits;
    struct command command = {.parent = getpid()};
    pid_t pid = -1;

    if (!PyArg_ParseTuple(args, "yO!O!OiO!", &command.path, &PyList_Type, &argv, &PyList_Type, &env,
                          &cwd, &command.log_fd, &PyList_Type, &limits)
        || read_limits(limits, &command) != 0)
        return NULL;
    if (PyList_GET_SIZE(argv) == 0) {
        PyErr_SetString(PyExc_ValueError, "a command has at least one word");
        return NULL;
    }
    if (cwd != Py_None && (command.cwd = PyBytes_AsString(cwd)) == NULL)
        return NULL;
    command.argv = words(argv);
    command.env = command.argv == NULL ? NULL : words(env);
    if (command.env != NULL && (pid = start(&command)) < 0)
        PyErr_SetFromErrno(PyExc_OSError);
    PyMem_Free(command.argv);
    PyMem_Free(command.env);
    return pid < 0 ? NULL : Py_BuildValue("ii", (int)pid, command.error);
}

static PyMethodDef methods[] = {{"spawn", spawn, METH_VARARGS, spawn_doc}, {NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "vfork", .m_doc = "Starts commands by vfork.", .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit_vfork(void)
{
    return PyModule_Create(&definition);
}

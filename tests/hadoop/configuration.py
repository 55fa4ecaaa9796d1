"""The configuration files of a Hadoop on loopback addresses, one for each node.

Node i is 127.0.0.(10 + i): YARN and HDFS see different hosts, so that locality is real, and the
names are addresses, so that everybody finds them without a table of hosts.
"""

import shutil
import socket
from xml.sax.saxutils import escape

OPENED = [
    "java.io",
    "java.lang",
    "java.lang.reflect",
    "java.math",
    "java.net",
    "java.nio",
    "java.text",
    "java.util",
    "java.util.concurrent",
    "java.util.zip",
    "sun.security.util",
    "sun.security.x509",
    "sun.nio.ch",
]
LOG4J = """\
log4j.rootLogger=INFO,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.target=System.err
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d %p %c{1}: %m%n
"""
HERE = "127.0.0.1"
PORTS = 24  # of the daemons that a cluster has once; each node has as many more
RM, SCHEDULER, TRACKER, ADMIN, RM_WEB = range(5)
NAMES, NAMES_WEB, HISTORY, HISTORY_WEB, HISTORY_ADMIN = range(5, 10)


def host_of(number):
    return f"127.0.0.{10 + number}"


def java_options(work):
    """Java 17 needs the first; the others make many small JVMs fit on one machine."""
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    lean = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k", "-XX:-UsePerfData"]
    hosts = [f"-Djdk.net.hosts.file={work}/hosts", "-Djava.net.preferIPv4Stack=true"]
    return [*lean, "-XX:+IgnoreUnrecognizedVMOptions", *opened, *hosts]


def write(work, lib, port, nodes, *, scheduler="capacity"):
    """A folder of files for the daemons of the cluster, and one for each node."""
    conf = work / "conf"
    for web in ("hdfs", "datanode", "static"):  # the jar of HDFS on Central has none
        (conf / "webapps" / web / "WEB-INF").mkdir(parents=True, exist_ok=True)
        (conf / "webapps" / web / "WEB-INF" / "web.xml").write_text("<web-app/>")
    names = [f"{HERE} localhost", f"{HERE} {socket.gethostname()}"]
    names += [f"{host_of(number)} {host_of(number)}" for number in range(1, nodes + 1)]
    (work / "hosts").write_text("\n".join(names) + "\n")
    (conf / "log4j.properties").write_text(LOG4J)
    (conf / "fair-scheduler.xml").write_text(
        "<?xml version='1.0'?><allocations><queueMaxAMShareDefault>0.8</queueMaxAMShareDefault>"
        "<queue name='default'/><queue name='a'><weight>3</weight></queue><queue name='b'/>"
        "</allocations>"
    )
    files = {
        "core-site": _core(work, port),
        "hdfs-site": _hdfs(work, port),
        "yarn-site": _yarn(work, lib, port, scheduler),
        "mapred-site": _mapred(work, lib, port),
        "capacity-scheduler": _capacity(),
    }
    for name, properties in files.items():
        _write_file(conf / f"{name}.xml", properties)
    for number in range(1, nodes + 1):
        _write_node(work, files, port, number)


def _write_node(work, files, port, number):
    host, first = host_of(number), port + PORTS * number
    conf = work / f"conf-{number}"
    shutil.copytree(work / "conf", conf, dirs_exist_ok=True)
    # The NameNode sees all DataNodes come from one address: they need ports of their own, too.
    _write_file(conf / "hdfs-site.xml", files["hdfs-site"] | {
        "dfs.datanode.address": f"{host}:{first}",
        "dfs.datanode.http.address": f"{host}:{first + 1}",
        "dfs.datanode.ipc.address": f"{host}:{first + 2}",
        "dfs.datanode.hostname": host,
        "dfs.datanode.data.dir": work / f"dn{number}",
    })  # fmt: skip
    _write_file(conf / "yarn-site.xml", files["yarn-site"] | {
        "yarn.nodemanager.hostname": host,
        "yarn.nodemanager.address": f"{host}:{first + 3}",
        "yarn.nodemanager.localizer.address": f"{host}:{first + 4}",
        "yarn.nodemanager.webapp.address": f"{host}:{first + 5}",
        "yarn.nodemanager.collector-service.address": f"{host}:{first + 6}",
        "yarn.nodemanager.local-dirs": work / f"nm{number}/local",
        "yarn.nodemanager.log-dirs": work / f"nm{number}/logs",
    })  # fmt: skip
    # It binds the wildcard address, and is read from this file.
    own = files["mapred-site"] | {"mapreduce.shuffle.port": first + 7}
    _write_file(conf / "mapred-site.xml", own)


def _write_file(path, properties):
    rows = [
        f"<property><name>{name}</name><value>{escape(str(value))}</value></property>"
        for name, value in properties.items()
    ]
    path.write_text("<configuration>\n" + "\n".join(rows) + "\n</configuration>\n")


def _core(work, port):
    return {
        "fs.defaultFS": f"hdfs://{HERE}:{port + NAMES}",
        "hadoop.tmp.dir": work / "tmp",
        "ipc.client.connect.max.retries": 5,
        "hadoop.http.staticuser.user": "root",
    }


def _hdfs(work, port):
    return {
        "dfs.replication": 1,
        "dfs.blocksize": 1 << 20,
        "dfs.namenode.fs-limits.min-block-size": 1024,
        "dfs.namenode.name.dir": work / "nn",
        "dfs.namenode.http-address": f"{HERE}:{port + NAMES_WEB}",
        "dfs.namenode.rpc-address": f"{HERE}:{port + NAMES}",
        "dfs.namenode.secondary.http-address": f"{HERE}:0",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.safemode.extension": 0,
        "dfs.permissions.enabled": "false",
        "dfs.client.use.datanode.hostname": "true",
        "dfs.datanode.use.datanode.hostname": "true",
    }


def _yarn(work, lib, port, scheduler):
    classes = "org.apache.hadoop.yarn.server.resourcemanager.scheduler"
    return {
        "yarn.resourcemanager.hostname": HERE,
        "yarn.resourcemanager.address": f"{HERE}:{port + RM}",
        "yarn.resourcemanager.scheduler.address": f"{HERE}:{port + SCHEDULER}",
        "yarn.resourcemanager.resource-tracker.address": f"{HERE}:{port + TRACKER}",
        "yarn.resourcemanager.admin.address": f"{HERE}:{port + ADMIN}",
        "yarn.resourcemanager.webapp.address": f"{HERE}:{port + RM_WEB}",
        "yarn.resourcemanager.scheduler.class": f"{classes}.fair.FairScheduler"
        if scheduler == "fair"
        else f"{classes}.capacity.CapacityScheduler",
        "yarn.scheduler.configuration.store.class": "memory",
        "yarn.scheduler.configuration.mutation.acl-policy.class":
            f"{classes}.DefaultConfigurationMutationACLPolicy",
        "yarn.scheduler.fair.allocation.file": work / "conf/fair-scheduler.xml",
        "yarn.admin.acl": "*",
        "yarn.cluster.max-application-priority": 10,
        "yarn.scheduler.minimum-allocation-mb": 128,
        "yarn.scheduler.maximum-allocation-mb": 1536,
        "yarn.nodemanager.resource.memory-mb": 1536,
        "yarn.nodemanager.resource.cpu-vcores": 4,
        "yarn.resourcemanager.reservation-system.enable": "true",
        "yarn.resourcemanager.reservation-system.planfollower.time-step": 1000,
        "yarn.node-labels.enabled": "true",
        "yarn.node-labels.fs-store.root-dir": f"file://{work}/labels",
        # A lost node or ApplicationMaster is noticed in seconds instead of minutes.
        "yarn.nm.liveness-monitor.expiry-interval-ms": 6000,
        "yarn.resourcemanager.nm.liveness-monitor.interval-ms": 1000,
        "yarn.am.liveness-monitor.expiry-interval-ms": 20000,
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 200,
        "yarn.nodemanager.sleep-delay-before-sigkill.ms": 100,
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 99.5,
        "yarn.nodemanager.delete.debug-delay-sec": 600,
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.aux-services.mapreduce_shuffle.class":
            "org.apache.hadoop.mapred.ShuffleHandler",
        "yarn.application.classpath": f"{work}/conf,{lib}/*",
        "yarn.nodemanager.admin-env":
            f"MALLOC_ARENA_MAX=2,JDK_JAVA_OPTIONS={' '.join(java_options(work))}",
    }  # fmt: skip


def _mapred(work, lib, port):
    return {
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": f"{work}/conf,{lib}/*",
        "mapreduce.jvm.add-opens-as-default": "false",
        "mapreduce.jobhistory.address": f"{HERE}:{port + HISTORY}",
        "mapreduce.jobhistory.webapp.address": f"{HERE}:{port + HISTORY_WEB}",
        "mapreduce.jobhistory.admin.address": f"{HERE}:{port + HISTORY_ADMIN}",
        "mapreduce.jobhistory.move.interval-ms": 1000,
        "yarn.app.mapreduce.am.staging-dir": "/staging",
        "yarn.app.mapreduce.am.env": f"HADOOP_MAPRED_HOME={work}",
        "yarn.app.mapreduce.am.command-opts": "-Xmx256m",
        "yarn.app.mapreduce.am.resource.mb": 384,
        "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": 200,
        "mapreduce.map.java.opts": "-Xmx200m",
        "mapreduce.reduce.java.opts": "-Xmx200m",
        "mapreduce.map.memory.mb": 256,
        "mapreduce.reduce.memory.mb": 256,
        "mapreduce.task.io.sort.mb": 64,
        "mapreduce.map.speculative": "false",
        "mapreduce.reduce.speculative": "false",
        "mapreduce.client.completion.pollinterval": 200,
        "mapreduce.client.progressmonitor.pollinterval": 200,
    }


def _capacity():
    queue = "yarn.scheduler.capacity.root"
    shares = {"default": 20, "a": 50, "b": 30}
    found = {
        f"{queue}.queues": ",".join(shares),
        f"{queue}.b.reservable": "true",
        "yarn.scheduler.capacity.maximum-am-resource-percent": 0.8,
        "yarn.scheduler.capacity.node-locality-delay": 3,
        "yarn.scheduler.capacity.resource-calculator":
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    }  # fmt: skip
    for name, percent in shares.items():
        found[f"{queue}.{name}.capacity"] = percent
        found[f"{queue}.{name}.maximum-capacity"] = 100
        found[f"{queue}.{name}.user-limit-factor"] = 10
    return found

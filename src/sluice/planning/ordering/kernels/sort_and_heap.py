"""A merge sort and a heap for the reduce queue, as kernels.

The merge sort is a natural one: it merges runs that are already sorted. Positions are nearly sorted
by their ready instants, and a sorted sequence costs one pass. numba has no stable sort on lists.
"""

from __future__ import annotations


def push(heap: list[int], size: int, number: int) -> int:
    """Add a number to the min-heap; returns the new size."""
    place = size
    while place > 0 and heap[(place - 1) // 2] > number:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = number
    return size + 1


def pop_first(heap: list[int], size: int) -> int:
    """Remove the least number from the heap; returns the new size."""
    size -= 1
    number = heap[size]
    place, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= number:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = number
    return size


def sort_by_instant(
    positions: list[int], count: int, order: list[int], at_s: list[float], spare: list[int]
) -> None:
    """Sort the first `count` positions by the instants of their jobs; ties keep their order.

    spare: working memory of the same length.
    """
    merged = 2
    while merged > 1:
        merged = 0
        start = 0
        while start < count:
            middle = _end_of_rise(positions, start, count, order, at_s)
            end = middle
            if middle < count:
                end = _end_of_rise(positions, middle, count, order, at_s)
                _merge(positions, start, middle, end, order, at_s, spare)
            start = end
            merged += 1


def _end_of_rise(
    positions: list[int], start: int, count: int, order: list[int], at_s: list[float]
) -> int:
    """End of the sorted run that begins at `start`."""
    end = start + 1
    while end < count and at_s[order[positions[end - 1]]] <= at_s[order[positions[end]]]:
        end += 1
    return end


def _merge(
    positions: list[int],
    start: int,
    middle: int,
    end: int,
    order: list[int],
    at_s: list[float],
    spare: list[int],
) -> None:
    """Merge two neighbouring sorted runs."""
    for place in range(start, middle):
        spare[place] = positions[place]
    left, right, place = start, middle, start
    while left < middle:
        if right < end and at_s[order[positions[right]]] < at_s[order[spare[left]]]:
            positions[place] = positions[right]
            right += 1
        else:
            positions[place] = spare[left]
            left += 1
        place += 1

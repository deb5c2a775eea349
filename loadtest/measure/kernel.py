"""What the kernel knows of connections: the memory that it holds for them, which is the
whole machine's, so that only differences say something; and which loop waits for which.
"""

import os
import re

from measure import processes

FIELDS = ("Slab", "KernelStack", "PageTables")


def parse_meminfo(text):
    """{field: KiB} of FIELDS."""
    found = dict(re.findall(r"^(\w+): +(\d+) kB$", text, re.M))
    return {name: int(found[name]) for name in FIELDS if name in found}


def parse_sockstat(text):
    """Sockets in use by TCP, and the pages of their buffers."""
    match = re.search(r"^TCP: inuse (\d+) .* mem (\d+)$", text, re.M)
    return {"tcp_inuse": int(match[1]), "tcp_pages": int(match[2])} if match else {}


def read():
    numbers = parse_meminfo(processes.read_text("/proc/meminfo"))
    numbers.update(parse_sockstat(processes.read_text("/proc/net/sockstat")))
    return numbers


def difference_kib(before, after):
    return sum(after[name] - before[name] for name in FIELDS if name in before)


def sockets_waited_for(pid):
    """{descriptor of an epoll set: how many descriptors are in it} of a process."""
    found = {}
    folder = "/proc/%d/fdinfo" % pid
    try:
        for name in os.listdir(folder):
            count = len(re.findall(r"^tfd:", processes.read_text(
                os.path.join(folder, name)), re.M))
            if count:
                found[name] = count
    except OSError:
        pass  # It ended meanwhile, or closed one of them.
    return found

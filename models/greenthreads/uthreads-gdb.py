"""For gdb: the user threads of a program that runs them.

    source models/greenthreads/uthreads-gdb.py
    info uthreads       those of the scheduler that the selected kernel thread runs
    uthread-bt N        the back trace of the one that the list numbers so

It reads struct scheduler and struct user_thread, so the program needs its debugging symbols.
A back trace of one that does not run borrows the selected kernel thread's registers for a
moment; it needs a live program, on x86-64 or AArch64 with the switch in assembler.
"""
import gdb

# Where context_switch leaves each register, from the saved stack pointer up; and what it adds.
SAVED = {
    "i386:x86-64": (64, {"r15": 8, "r14": 16, "r13": 24, "r12": 32, "rbx": 40, "rbp": 48,
                         "rip": 56}, "rsp"),
    "aarch64": (160, {**{f"x{19 + i}": 8 * i for i in range(11)}, "pc": 88}, "sp"),
}


def scheduler():
    current = gdb.parse_and_eval("current")
    if not current:
        raise gdb.GdbError("the selected kernel thread runs no user threads")
    return current


def threads():
    thread = scheduler()["all"]
    while thread:
        yield thread
        thread = thread["later"]


def read(address):
    return int(gdb.parse_and_eval(f"*(unsigned long *){address}"))


def where(address):
    return str(gdb.parse_and_eval(f"(void *){address}")).partition(" ")[2] or hex(address)


def first_function(thread):
    """What it was started with; for one of uthread_create that is behind a handle."""
    run = int(thread["run"])
    if thread["local"]:
        run = int(thread["local"].cast(gdb.lookup_type("struct uthread").pointer())["run"])
    return where(run)


class InfoUthreads(gdb.Command):
    """The user threads of the scheduler of the selected kernel thread."""

    def __init__(self):
        super().__init__("info uthreads", gdb.COMMAND_STATUS)

    def invoke(self, _argument, _from_tty):
        own = scheduler()
        print(f"{int(own['threads'])} user threads, {int(own['ready'])} ready, "
              f"{int(own['awaiting'])} wait for descriptors")
        for number, thread in enumerate(threads()):
            state = str(thread["state"]).removeprefix("THREAD_").lower()
            if not thread["stack"] and state != "running":
                state += ", no stack"
            print(f"{number:4}  {int(thread):#x}  {state:16}  {first_function(thread)}")


class UthreadBacktrace(gdb.Command):
    """uthread-bt N: the back trace of a user thread of the selected kernel thread."""

    def __init__(self):
        super().__init__("uthread-bt", gdb.COMMAND_STACK)

    def invoke(self, argument, _from_tty):
        wanted = gdb.string_to_argv(argument)
        if len(wanted) != 1 or not wanted[0].isdigit():
            raise gdb.GdbError("usage: uthread-bt N, a number of info uthreads")
        for number, thread in enumerate(threads()):
            if number == int(wanted[0]):
                self.show(thread)
                return
        raise gdb.GdbError("there is no such user thread")

    @staticmethod
    def show(thread):
        if str(thread["state"]) == "THREAD_RUNNING":
            gdb.execute("backtrace")
            return
        if not thread["stack"]:
            raise gdb.GdbError("it has no stack while it sleeps, and begins anew")
        architecture = gdb.newest_frame().architecture().name()
        if architecture not in SAVED:
            raise gdb.GdbError(f"not known for {architecture}")
        size, registers, stack = SAVED[architecture]
        base = int(thread["fiber"]["context"]["saved"])
        values = {name: read(base + offset) for name, offset in registers.items()}
        values[stack] = base + size
        before = {name: int(gdb.parse_and_eval(f"(unsigned long)${name}")) for name in values}
        try:
            for name, value in values.items():
                gdb.execute(f"set ${name} = {value}")
            gdb.execute("backtrace")
        finally:
            for name, value in before.items():
                gdb.execute(f"set ${name} = {value}")


InfoUthreads()
UthreadBacktrace()

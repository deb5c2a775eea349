"""One round: every subject measured under the same machine.

A virtual CPU may change its speed by a third every few seconds. So the servers of a round
run at the same time and take turns of a second; all of them see the same mixture of fast
and slow.
"""

from measure import cell, servers, summary


class Round:
    def __init__(self, number, subjects, plan, scratch, shuffler, progress):
        self.number, self.subjects, self.plan = number, subjects, plan
        self.scratch, self.shuffler, self.progress = scratch, shuffler, progress
        self.cells = []
        # The names in the order of each step, for whoever reads the numbers.
        self.order = {"round": number, "prepare": [], "slices": [], "finish": []}

    def run(self):
        """The results of all subjects, in the subjects' order."""
        try:
            for subject in self.subjects:
                self.cells.append(cell.Cell(self.number, subject, self.plan,
                                            self.scratch))
            self.take_turns(cell.Cell.prepare, self.order["prepare"],
                            self.progress.preparing)
            for number in range(1, self.plan.seconds + 1):
                turn = []
                self.take_turns(cell.Cell.load, turn)
                self.order["slices"].append(turn)
                self.progress.slice_done(self.number, number, self.plan.seconds)
            self.take_turns(cell.Cell.finish, self.order["finish"],
                            self.progress.finishing, self.tell)
        finally:
            servers.abandon([server for one in self.cells for server in one.running])
            for one in self.cells:
                one.forget()
        return [one.result for one in self.cells]

    def take_turns(self, step, order, before=None, after=None):
        """The step of each cell that has not failed, in an order of its own."""
        # All are shuffled, so that a failure does not change the order of the others.
        turns = list(self.cells)
        self.shuffler.shuffle(turns)
        for one in turns:
            if one.failed:
                continue
            order.append(one.subject.name)
            if before:
                before(self.number, one.subject.name)
            if not one.take(step):
                self.progress.failed(self.number, one.result)
            elif after:
                after(one.result)

    def tell(self, result):
        result["flags"] = summary.cell_flags(result, self.plan.clients)
        self.progress.measured(self.number, result)

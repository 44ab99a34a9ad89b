"""Wrong solutions of the suite ``arbiter``, each the reference fix with one text replaced, and the class that it is.

Of each problem there is one of every class that tests are marked for; the other classes are shown on one problem.
"""

from typing import Final

from codegate.grading import FailureClass

Wrong = tuple[str, FailureClass, str, str]


WRONG: Final[tuple[Wrong, ...]] = (
    ("sliding-window-counter", "logic_error", "self._total += event[1]", "self._total += 1"),
    ("sliding-window-counter", "edge_case_error", "[0][0] <= now - self._window", "[0][0] < now - self._window"),
    (
        "sliding-window-counter",
        "temporal_reasoning_error",
        "while self._coming and self._coming[0][0] <= now:",
        "while self._coming:",
    ),
    (
        "sliding-window-counter",
        "performance_error",
        "        return self._total",
        "        return sum(count for _, count in self._counted)",
    ),
    (
        "lru-cache-ttl",
        "logic_error",
        "        self._values.move_to_end(key)\n        return self._values[key]",
        "        return self._values[key]",
    ),
    ("lru-cache-ttl", "edge_case_error", "if key not in self._values:", "if self._values.get(key) is None:"),
    (
        "lru-cache-ttl",
        "temporal_reasoning_error",
        "self._ends[key] = now + self._ttl",
        "self._ends.setdefault(key, now + self._ttl)",
    ),
    (
        "lru-cache-ttl",
        "performance_error",
        "        while self._ends and next(iter(self._ends.values())) <= now:\n"
        "            key, _ = self._ends.popitem(last=False)\n",
        "        for key in [key for key, end in self._ends.items() if end <= now]:\n            del self._ends[key]\n",
    ),
    ("expression-parser", "logic_error", "else value - self.product()", "else self.product() - value"),
    ("expression-parser", "edge_case_error", "if exponent.denominator != 1:", "if exponent < 0:"),
    (
        "expression-parser",
        "temporal_reasoning_error",
        "            self.names[name] = self.sum()\n",
        "            value = self.sum()\n            self.names.setdefault(name, value)\n",
    ),
    (
        "expression-parser",
        "performance_error",
        '        if token == "(":\n',
        '        if token == "(":\n'
        "            left = self.left[:]\n"
        "            self.sum()\n"
        "            self.left = left\n",
    ),
    ("dependency-order", "logic_error", "name = heappop(ready)", "name = ready.pop()"),
    (
        "dependency-order",
        "edge_case_error",
        "graph = {name: set(others) for name",
        "graph = {name: set(others) - {name} for name",
    ),
    ("dependency-order", "temporal_reasoning_error", "found[name] = max((found", "found[name] = min((found"),
    (
        "dependency-order",
        "performance_error",
        "for user in users[name]:",
        "for user in [user for user in graph if name in graph[user]]:",
    ),
    ("token-bucket", "logic_error", "self._tokens -= tokens", "self._tokens -= 1"),
    ("token-bucket", "edge_case_error", "if tokens > self._capacity:", "if tokens < 0:"),
    ("token-bucket", "temporal_reasoning_error", "self._since + gained * self._interval", "self._now"),
    (
        "token-bucket",
        "performance_error",
        "        gained = (self._now - self._since) // self._interval\n",
        "        gained = 0\n"
        "        while self._since + (gained + 1) * self._interval <= self._now:\n"
        "            gained += 1\n",
    ),
    ("retry-backoff", "logic_error", "min(backoff * 2, cap)", "min(backoff + base, cap)"),
    ("retry-backoff", "edge_case_error", "min(backoff * 2, cap)", "backoff * 2"),
    ("retry-backoff", "temporal_reasoning_error", "clock() + delay > started + deadline", "delay > deadline"),
    (
        "retry-backoff",
        "performance_error",
        "    for _ in range(attempts - 1):\n",
        "    for number in range(attempts - 1):\n        backoff = min(base, cap)\n        for _ in range(number):\n"
        "            backoff = min(backoff * 2, cap)\n",
    ),
    ("interval-merging", "logic_error", "max(merged[-1][1], end)", "end"),
    ("interval-merging", "edge_case_error", "start <= merged[-1][1]", "start < merged[-1][1]"),
    ("interval-merging", "temporal_reasoning_error", "start = min(start, closes)", "start = start or closes"),
    (
        "interval-merging",
        "performance_error",
        "            merged.append((start, end))",
        "            merged = [other for other in merged if other != (start, end)] + [(start, end)]",
    ),
    ("event-scheduler", "logic_error", "day.weekday() in", "day.isoweekday() in"),
    ("event-scheduler", "edge_case_error", "run > after:", "run >= after:"),
    (
        "event-scheduler",
        "temporal_reasoning_error",
        "tzinfo=zone).astimezone",
        "tzinfo=zone).replace(fold=1).astimezone",
    ),
    (
        "event-scheduler",
        "performance_error",
        "    heap = [",
        "    [upcoming(schedule, after, count) for schedule in schedules.values()]\n    heap = [",
    ),
    ("rate-limited-queue", "logic_error", "next(self._number), -priority", "next(self._number), priority"),
    ("rate-limited-queue", "edge_case_error", "if item is None:", "if not item:"),
    (
        "rate-limited-queue",
        "temporal_reasoning_error",
        "self._given[0] + self._per <= now",
        "self._given[0] + self._per < now",
    ),
    (
        "rate-limited-queue",
        "performance_error",
        "        return heapq.heappop(self._ready)[-1]",
        "        first = min(range(len(self._ready)), key=lambda place: self._ready[place][:2])\n"
        "        return self._ready.pop(first)[-1]",
    ),
    (
        "text-diff",
        "logic_error",
        "    changes: list[Change] = []\n",
        '    changes = [("-", line) for line in old] + [("+", line) for line in new]\n    return changes\n',
    ),
    (
        "text-diff",
        "edge_case_error",
        '    if any(kind not in {" ", "-", "+"} for kind, _ in changes):\n'
        "        raise ValueError(\"a change is one of ' ', '-' and '+'\")\n",
        "",
    ),
    ("text-diff", "temporal_reasoning_error", 'origin if kind == " " else number', 'number if kind == " " else number'),
    (
        "text-diff",
        "performance_error",
        "    changes: list[Change] = []\n",
        "    changes: list[Change] = []\n"
        "    if not sum(line == other for line in new for other in old):\n"
        "        changes = []\n",
    ),
    ("wildcard-trie", "logic_error", '(letter, "?", "*")', '(letter, "*")'),
    ("wildcard-trie", "edge_case_error", 'if "?" in word or "*" in word:', 'if word in {"?", "*"}:'),
    ("wildcard-trie", "temporal_reasoning_error", "node.until = until", "node.until = max(node.until, until)"),
    ("wildcard-trie", "performance_error", "if after:", "if after is not None:"),
    ("matrix-path", "logic_error", "((0, 1), (1, 0), (0, -1), (-1, 0))", "((0, 1), (1, 0))"),
    ("matrix-path", "edge_case_error", "if (0, 0) in minutes else {}", "if grid else {}"),
    (
        "matrix-path",
        "temporal_reasoning_error",
        "max(now + minutes[near], gates.get(near, 0))",
        "max(now, gates.get(near, 0)) + minutes[near]",
    ),
    ("matrix-path", "performance_error", "heapq.heappop(queue)", "queue.pop()"),
    (
        "streaming-median",
        "logic_error",
        "return self._sorted[middle] if odd else",
        "return self._sorted[middle] if middle else",
    ),
    ("streaming-median", "edge_case_error", "if value != value:", "if value == math.inf:"),
    ("streaming-median", "temporal_reasoning_error", "[0][0] <= now - self._window", "[0][0] < now - self._window"),
    (
        "streaming-median",
        "performance_error",
        "insort(self._sorted, value)",
        "self._sorted = sorted([*self._sorted, value])",
    ),
    ("json-patch", "logic_error", "parent.insert(key, value)", "parent[key:] = [value]"),
    (
        "json-patch",
        "edge_case_error",
        "isinstance(one, bool) == isinstance(other, bool) and one == other",
        "one == other",
    ),
    (
        "json-patch",
        "temporal_reasoning_error",
        "_add(root, path, deepcopy(parent[key]))",
        "_add(root, path, parent[key])",
    ),
    (
        "json-patch",
        "performance_error",
        "        _carry_out(root, operation)\n",
        "        root = deepcopy(root)\n        _carry_out(root, operation)\n",
    ),
    ("bank-ledger", "logic_error", "self._account(target).enter(cents, day)", "self._account(target).enter(1, day)"),
    ("bank-ledger", "edge_case_error", "import ROUND_HALF_EVEN,", "import ROUND_HALF_UP as ROUND_HALF_EVEN,"),
    (
        "bank-ledger",
        "temporal_reasoning_error",
        "self._account(source).least(day) < cents",
        "self._account(source).balance(day) < cents",
    ),
    (
        "bank-ledger",
        "performance_error",
        "sum(found.balance(day) * (end - day) for day, end in zip(starts, starts[1:], strict=False))",
        "sum(found.balance(day) for day in range(first, starts[-1]))",
    ),
    (
        "state-machine",
        "logic_error",
        "self._moves.get((state, event), self._moves.get((ANY, event)))",
        "self._moves.get((ANY, event), self._moves.get((state, event)))",
    ),
    (
        "state-machine",
        "edge_case_error",
        "if (state, event) in self._moves:",
        "if self._moves.get((state, event), target) != target:",
    ),
    (
        "state-machine",
        "temporal_reasoning_error",
        "self._enter(target, self._since + after)",
        "self._enter(target, now)",
    ),
    (
        "state-machine",
        "performance_error",
        "        state = self.state(now)\n",
        "        state = self.state(now)\n"
        "        if not any(known[1] == event for known in self._moves if known[0] in (state, ANY)):\n"
        "            return False\n",
    ),
    ("circuit-breaker", "logic_error", "elif not succeeded:", "elif not succeeded and self._failures:"),
    (
        "circuit-breaker",
        "edge_case_error",
        'state == "half_open" and self._under_way',
        'state == "half_open" and len(self._under_way) > 1',
    ),
    ("circuit-breaker", "temporal_reasoning_error", "min(self._cooldown * 2, self._longest)", "self._cooldown"),
    (
        "circuit-breaker",
        "performance_error",
        "            while self._failures[0] <= now - self._window:\n                self._failures.popleft()\n",
        "            self._failures = deque(time for time in self._failures if time > now - self._window)\n",
    ),
    # The classes that no marker is needed for.
    ("matrix-path", "syntax_error", "import heapq", "import heapq as"),
    ("matrix-path", "missing_dependency", "import heapq", "import numpy as np\nimport heapq"),
    ("matrix-path", "runtime_error", "gates = gates or {}", "gates = gates[0]"),
    (
        "matrix-path",
        "timeout",
        "        if now > best[cell]:\n            continue\n",
        "        queue.append((now, cell))\n",
    ),
    ("matrix-path", "memory_exceeded", "gates = gates or {}", "gates = {(0, 0): len(bytearray(8 << 30))}"),
    ("matrix-path", "permission_denied", "gates = gates or {}", 'gates = dict(open("/etc/passwd", "w"))'),
    (
        "matrix-path",
        "unsafe_operation",
        "gates = gates or {}",
        'import socket\n    gates = dict(socket.create_connection(("192.0.2.1", 80), 5))',
    ),
)

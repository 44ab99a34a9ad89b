"""codegate: does the new model still fix our past bugs?

Rooms, from the bottom up (imports go down only): ``suite``, ``sandbox`` and ``candidates``; ``gating``;
``solving`` and ``grading``; ``mining`` and ``running``; ``reporting``; ``github``; ``cli``.
"""

__version__ = "0.2.0"

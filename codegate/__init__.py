"""codegate: does the new model still fix our past bugs?

Rooms (packages), from the bottom up; imports go down only: ``suite``, ``sandbox``, ``candidates`` and ``forge``;
``environments``; ``languages``; ``gating``; ``solving`` and ``grading``; ``mining`` and ``running``; ``reporting``;
``operations``; ``github`` and ``cli``.
"""

__version__ = "0.2.0"

"""A project in a language that nothing here knows: the command that its user gives writes JUnit XML."""

from tests.mining.statement_world import BODY

ADD = "add() {\n  echo $(($1 %s $2))\n}\n"
#: Runs each function of the given files whose name begins with ``test_``, and writes what came of it as JUnit XML.
RUN = """#!/bin/sh
echo '<testsuite>' >report.xml
for file in "$@"; do
  for name in $(sed -n 's/^\\(test_[a-z]*\\)().*/\\1/p' "$file"); do
    echo "<testcase file='$file' name='$name'>" >>report.xml
    sh -c ". ./lib/add.sh; . ./$file; $name" || echo '<failure/>' >>report.xml
    echo '</testcase>' >>report.xml
  done
done
echo '</testsuite>' >>report.xml
"""
TEST = 'test_zero() {\n  [ "$(add 0 0)" = 0 ]\n}\n'
MORE = TEST + 'test_sum() {\n  [ "$(add 2 5)" = 7 ]\n}\n'
FIX = f"Fix add (#7){BODY}"
COMMAND = ("sh", "run.sh", "{files}")

"""Classify the files of a Java project.

The layout is Maven's, which Gradle has too.
"""

import re
from typing import Final

from typing_extensions import override

from codegate.languages.contract import FileRules, PathClass

TEST_ROOT: Final = re.compile(r"(?:.+/)?src/(?:test|it|integrationTest|testFixtures)/.+")
_MAIN_ROOT: Final = re.compile(r"(?:.+/)?src/main/.+")
_TEST: Final = re.compile(rb"@(?:\w+\.)*(?:Test|\w+Test|TestFactory)\b|\bextends\s+\w*TestCase\b")
_CONFIGURATION: Final = re.compile(
    r"(?:.+/)?(?:\.mvn/.+|mvnw(?:\.cmd)?|gradlew(?:\.bat)?|gradle/wrapper/.+|checkstyle[\w.-]*\.xml"
    r"|junit-platform\.properties)"
)
_DEPENDENCIES: Final = frozenset(
    {"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"}
)
_GENERATED: Final = re.compile(r"(?:.+/)?(?:target|build)/(?:(?:test-)?classes|generated[\w-]*)/.+")


class JavaFiles(FileRules):
    """Classifies Java files."""

    @override
    def classify(self, path: str) -> PathClass | None:
        if path.rpartition("/")[2] in _DEPENDENCIES:
            return "dependencies"
        if path.endswith(".java") and TEST_ROOT.fullmatch(path):
            return "test" if self.is_test(path) else "test_support"
        if _CONFIGURATION.fullmatch(path):
            return "configuration"
        if path.endswith(".java") and _MAIN_ROOT.fullmatch(path):  # a package may be called ``test`` or ``vendor``
            return "source"
        return "generated" if _GENERATED.fullmatch(path) else None

    @override
    def is_test(self, path: str) -> bool:
        # A file's folder and content decide; if it is absent, its folder and name.
        name = path.rpartition("/")[2]
        if not name.endswith(".java") or "src/test/java/" not in path:
            return False
        return self.has(path, _TEST, absent="Test" in name)

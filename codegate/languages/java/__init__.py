"""Java: JUnit 3 to 5, by Maven and Gradle."""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.java.declarations import JAVA
from codegate.languages.java.files import JavaFiles

LANGUAGE: Final = LanguagePack(
    name="java",
    suffixes=(".java",),
    files=JavaFiles,
    runners={
        "maven": "codegate.languages.java.runners:MAVEN",
        "gradle": "codegate.languages.java.runners:GRADLE",
    },
    manifests={"pom.xml": "maven", "build.gradle": "gradle", "build.gradle.kts": "gradle"},
    readers=(JAVA,),
    lines="codegate.languages.java.tests:DIALECTS",
    controls="codegate.languages.java.controls:TESTS",
    alone=frozenset({"gradle"}),
    varies=frozenset({"order", "timezone"}),
    parameters="(",
)

"""Java: JUnit 3 to 5, by Maven's poms; in recorded builds by Maven and Gradle themselves."""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.java.declarations import JAVA
from codegate.languages.java.files import JavaFiles

LANGUAGE: Final = LanguagePack(
    name="java",
    suffixes=(".java",),
    files=JavaFiles,
    runners={
        "java": "codegate.languages.java.runners:JAVA",
        "maven": "codegate.languages.java.runners:MAVEN",
        "gradle": "codegate.languages.java.runners:GRADLE",
    },
    environments="codegate.languages.java.environments:Java",
    packages={"maven.lock": "codegate.languages.java.packages:install"},
    readers=(JAVA,),
    finder="codegate.languages.java.mutation:JavaFinder",
    varies=frozenset({"order", "timezone"}),
    parameters="(",
)

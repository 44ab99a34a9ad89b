"""Sentences of changelogs and messages, read as states of the program."""

import pytest

from codegate.mining.statements.grammar import plural
from codegate.mining.statements.sentences import sentences
from codegate.mining.statements.titles import title_of


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("Fix a bug where an empty list crashed the parser.", [("observed", "An empty list crashes the parser.")]),
        ("Fixed an issue with ``Path`` where it was not closed.", [("observed", "In `Path`, it is not closed.")]),
        ("Fix the progress bar being one item late.", [("observed", "The progress bar is one item late.")]),
        ("Fix ``slice()`` returning an empty range for -1", [("observed", "`slice()` returns an empty range for -1.")]),
        (
            "Fix strings dropping a leading newline: a value that begins so is now kept whole.",
            [
                ("observed", "Strings drop a leading newline."),
                ("expected", "A value that begins so should be kept whole."),
            ],
        ),
        ("Tables should move past it, mirroring the table fix.", [("expected", "Tables should move past it.")]),
        ("Fix crash when the list is empty (#12)", [("observed", "Problem: crash when the list is empty.")]),
        (
            "Options no longer raise an error for empty values.",
            [
                ("observed", "Options raise an error for empty values."),
                ("expected", "Options should not raise an error for empty values."),
            ],
        ),
        ("As a result the bounds were no longer kept apart (issue12, pr34 by Ann).",
         [("observed", "The bounds are no longer kept apart.")]),
        ("Fix Encoding Totals Back to Map Bug", []),
        ("Fix the failing total of lists", [("observed", "Problem: the failing total of lists.")]),
        ("Fix a leak of lists that live after being replaced",
         [("observed", "Problem: a leak of lists that live after being replaced.")]),
        ("Given no name it will no longer attempt to sort the lists.",
         [("observed", "Given no name it attempts to sort the lists."),
          ("expected", "Given no name it should not attempt to sort the lists.")]),
        ("Enhance the protection by raising an error for deep lists.", []),
        ("The bar now shows the current item.", [("expected", "The bar should show the current item.")]),
        ("``secho`` can now print ``None``.", [("expected", "`secho` should be able to print `None`.")]),
        ("Preserve the order when dumping.", [("expected", "The order should be preserved when dumping.")]),
        ("Previously, the value was dropped without a word.", [("observed", "The value is dropped without a word.")]),
        ("The parser is asked more often than previously, which fails.",
         [("observed", "The parser is asked more often than before, which fails.")]),
        ("Fix extra padding between *first* cells/", [("observed", "Problem: extra padding between first cells.")]),
        ("Would panic if the file has one line.", [("observed", "It would panic if the file has one line.")]),
        ("Fix internal error when text is too long", [("observed", "Problem: internal error when text is too long.")]),
        ("Fix the option to reject invalid dates", [("expected", "The option should reject invalid dates.")]),
        ("Fix the age to never be a fraction", [("expected", "The age should never be a fraction.")]),
        ("Fix panic when using a hook with no functions",
         [("observed", "Problem: panic when using a hook with no functions.")]),
        ("Fix wrong escaping of quotes in texts", [("observed", "Problem: wrong escaping of quotes in texts.")]),
        ("Fix the parser: ensure names are not split", []),
        ("Ensure ``base`` does not change the scheme", [("expected", "`base` should not change the scheme.")]),
        ("The hook was used to fail for such names", [("observed", "The hook is used to fail for such names.")]),
        ("Handle aliases ending with a slash", [("observed", "Aliases ending with a slash are not handled.")]),
        ("Handle when the key is empty", [("observed", "The case that the key is empty is not handled.")]),
        (
            "Handle errors and warnings from the clock .",
            [
                ("observed", "Errors and warnings from the clock are not handled."),
            ],
        ),
        (
            "Allow unsortable keys in sets (bug introduced in 0.12.1)",
            [("expected", "Unsortable keys in sets should be allowed.")],
        ),
        ("Fix slices of sets: keep iter_slice bounds", []),
        ("The guard used the wrong limit, so 5 is accepted", []),
        ("Ends should be days that no longer count.", [("expected", "Ends should be days that no longer count.")]),
        ("``link`` does not add a scheme to names.", [("expected", "`link` should not add a scheme to names.")]),
        ("Names are not split at a dot.", [("expected", "Names should not be split at a dot.")]),
        ("An error is raised for names without a dot, the parser raises it.", []),
        ("Values should be kept in their order.", [("expected", "Values should be kept in their order.")]),
        ("``get`` will raise an error for lists.", [("expected", "`get` should raise an error for lists.")]),
        ("Prevent short names being used for files.", [("observed", "Short names are used for files.")]),
        ("Ensure setting the limit to 0 results in an error.",
         [("expected", "Setting the limit to 0 should result in an error.")]),
        ("Ensure parity of all of the names.", []),
        ("Failed for lists that the parser has read.", []),
        ("The total does not use the text of `self.fail()`.", []),
        ("Fix {func}`total` being lost for lists. {issue}`23` {pr}`45`",
         [("observed", "`total` is lost for lists.")]),
        ("Results of the total should be ` `.", []),
        ("The order of lists is fixed as a side effect of it.", []),
        ("Handling of KeyError should be that of the parser.", []),
        ("The total refuses text that it used to ignore.", []),
        ("Make totals of lists picklable.", [("expected", "Totals of lists should be picklable.")]),
        ("Prevent the total from being changed.", [("observed", "The total is changed.")]),
        ("Avoid contractions of words in names.", []),
        ("Names are no longer kept for lists.",
         [("observed", "Names are kept for lists."), ("expected", "Names should not be kept for lists.")]),
        ("Keep names in lists instead of dropping them.",
         [("expected", "Names in lists should be kept instead of dropping them.")]),
        ("Allow names to be of any length.", [("expected", "Names should be able to be of any length.")]),
        ("Make names of lists actually work in sums.", [("expected", "Names of lists should work in sums.")]),
        ("[Fix] `total`: throw for lists without items", []),
        ("Fix unique names by not using a set", []),
        ("Fix rendering bugs for empty lists", []),
        ("Fix for names being lost in lists.", [("observed", "Names are lost in lists.")]),
        ("Fix issue with names being lost in lists.", [("observed", "Names are lost in lists.")]),
        ("Totals now keep names of lists - previously each call dropped the last name.",
         [("expected", "Totals should keep names of lists."), ("observed", "Each call drops the last name.")]),
        ("Two regressions in the parser broke callers of it.",
         [("observed", "Two regressions in the parser break callers of it.")]),
        ("Fix wrong names, and subsequent failure to read them.",
         [("observed", "Problem: wrong names, and subsequent failure to read them.")]),
        ("``total()`` no longer auto-commits lists (#12).",
         [("observed", "`total()` auto-commits lists."), ("expected", "`total()` should not auto-commit lists.")]),
        ('Names like ``total("; x")`` were lost.', [("observed", 'Names like `total("; x")` are lost.')]),
        ("The total now validates that names cannot be lists.",
         [("expected", "The total should validate that names cannot be lists.")]),
        ("Handle names of lists by falling back to totals when empty",
         [("observed", "Names of lists are not handled when empty.")]),
        ("Due to a slip in the parser, names of lists are lost.", [("observed", "Names of lists are lost.")]),
        ("for example: `total` could crash on lists.", [("observed", "`total` can crash on lists.")]),
        ("Names should not be cut either.", [("expected", "Names should not be cut.")]),
        ("Fix names need to be cut.", [("expected", "Names should be cut.")]),
        ("Fix names given twice to be kept in order.", [("expected", "Names given twice should be kept in order.")]),
    ],
)  # fmt: skip
def test_a_sentence_says_what_is_or_what_should_be(text: str, slots: list[tuple[str, str]]) -> None:
    text = text.replace(" (#12)", "")
    assert [(each.slot, each.text) for each in sentences(text, "changelog")] == slots


@pytest.mark.parametrize(
    "text",
    [
        "Add a default to the call of the parser.",
        "Route the value into the existing part instead.",
        "This commit raises the limit instead of failing.",
        "We should really look at this again.",
        "It was wrong in all of the releases.",
        "The helper _find_last treated every table as inline.",
        "Updated tests that failed before this.",
        "Show that the last day is missing.",
        "Wrong again.",
        "The value should be kept, as in the table fix for.",
        "A name that is not closed causes the lexer to",
        "Mapping of slices: bug fixes and more",
        "Something like this would fail to encode.",
        "Format completion item for the shell.",
        "If the list is empty, do not create a new one.",
        "Don't raise an error for empty values.",
        "Return `None`, not an error, for empty values.",
        "Does not show what the names are of.",
        "Previously these failed for names of lists.",
        "Existing tests now pass for lists of names.",
        "A list which is now also named in the sums.",
        "Fix the error message for additional items",
        "The pattern should be expanded to accept all names.",
        "Negative test cases failed to lock it in.",
        "Failed names of lists raise an error, as before.",
        "In some cases you might want to add names instead of lists.",
        "Keep names of lists intact in totals.",
        "Keep names of lists, add totals.",
        'The call total("; x") failed for names (or lists',
        "Differs from the error of names that is covered.",
        "Used to find out whether names are wrong.",
        "Lists that now have names cannot fail.",
        "The total of lists -> 3 is wrong for names.",
        "The last branch assigned the whole list to names, which fails.",
        "The `names` of lists must be used instead.",
        "`&&` should be `||`: names of lists are lost.",
        "pkg/sums.py:104: names of lists are lost.",
        "Root cause: names of lists are lost.",
        "Fixed ``total(ignore=True)`` of lists and names",
        "Fixed total() so an ignored name is now missing.",
        "- `total` raises an error for lists of names.",
        "The problem came from the fact that names of lists are lost.",
        "Names of lists are lost in the earlier example.",
        "The other half of the bug is a separate, still-open concern.",
    ],
)
def test_what_tells_how_or_talks_of_the_change_is_left_out(text: str) -> None:
    assert list(sentences(text, "commit")) == []


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Default nested partial fix", "default nested partial"),
        ("Fix - ranges of nothing", "ranges of nothing"),
        ("Fix for allowing wrong versions", "allowing wrong versions"),
        ("Fix an additional regression with sums", "regression with sums"),
        ("Fix plural form of words and improve performance", "plural form of words"),
        ("Fix usage wrapping on narrow terminals", "usage wrapping on narrow terminals"),
        ("fix(parser): preserve leading newline of strings", "Leading newline of strings should be preserved"),
        ("Fixed argument handling for '-' and added test.  This fixes it", "argument handling for '-'"),
        ("[core] Do not drop the last line", "It should not drop the last line"),
        ("Nil pointer dereference for typed flags", "Nil pointer dereference for typed flags"),
        ("null-pointer dereferences in lists", "null-pointer dereferences in lists"),
        ("Null dereference in lists", "Null dereference in lists"),
        ("Deadlocks of two writers", "Deadlocks of two writers"),
        ("Data races of two writers", "Data races of two writers"),
        ("Stack overflow of deep lists", "Stack overflow of deep lists"),
        ("Infinite loops in lists", "Infinite loops in lists"),
        ("Refactor the parser", ""),
        ("Use `hash` for names", ""),
        ("fix: supoort --hot", ""),
        ("Order of nested lists", ""),
        ("fix: when the list is empty, properly keep its name", ""),
        ("Fix the way lists are stored", "the way lists are stored"),
        ("Fix an issue with empty lists growing", "empty lists growing"),
        ("Fix tests", ""),
        ("fix: SQL hints", "SQL hints"),
        ("fix: non empty names", "non empty names"),
        ("Fix <= comparison", "<= comparison"),
        ("Fix Encoding Totals Back to Map Bug", "Encoding Totals Back to Map"),
        ("Handling of names with additional tests", ""),
        ("Fix edge cases", ""),
        ("fix: `get` to work when lists are empty", "`get` should work when lists are empty"),
        ("Fix bug that names not working in lists", "names not working in lists"),
        ("Handle ranges properly in lists", "Ranges in lists are not handled"),
        ("Prevent lost names by escaping lists", "lost names"),
        ("fix: names of lists so they no longer end", "names of lists"),
        ("fix: parses lists without names", "It should parse lists without names"),
        ("Fix names of lists by adding totals", "names of lists"),
        ("Fix names of lists and", "names of lists"),
        ("Fix lists that are read ( if empty, do not read )", "lists that are read"),
        ("Fix totals introduced in 3.2.2", ""),
        ("Fix parser to use totals", ""),
        ("Fix issue detected by a fuzzer", ""),
        ("Fix test of lists", ""),
        ("Prevent loops of lists", "loops of lists"),
        ("Fix:(issue_22) Empty lists break totals", "Empty lists break totals"),
        ("Fix wrong total, added an option", "wrong total"),
        ("2257 - Fix lost names", "lost names"),
        ("Totals now don't add up over lists", ""),
        ("fix: lists no longer rejected as missing names", ""),
        ("When providing lists with names", ""),
        ("fix: reduce limits to prevent lost names", ""),
        ("fix: total() should always be asked first", "total() should always be asked first"),
        ("Fix names of lists (fixes issue 427)", "names of lists"),
        ("Fix total of lists using names", "total of lists using names"),
        ("Fix bug for -1 in short lists", "-1 in short lists"),
        ("Fix strange missing names", "strange missing names"),
        ("Ensure total handles lists and returns names", "Total should handle lists"),
        ("Prevent `total` from reading lists", "`total` reading lists"),
        ("Resolve names of lists first", "It should resolve names of lists first"),
        ("Resolve a crash of lists", "crash of lists"),
        ("parser: error on lists of names", ""),
        ("Use sums() to check for lost names", ""),
        ("fix: add missing names", ""),
        ("Fix list parsing inside names", "list parsing inside names"),
        ("fix: total returning names of lists", "Total returns names of lists"),
        ("🐛 FIX: Always suffix lists with a name", "It should always suffix lists with a name"),
        (":bug: fix: relative order passing", "relative order passing"),
        ("Fix names of lists [ROBOT 2]", "names of lists"),
        (
            "Don't crash in total() when the list of names that were given twice is empty",
            "crash in total() when the list of names that were given twice is empty",
        ),
        ("Handle names as a list", ""),
        ("total: ValueError if all names are empty", ""),
        ("fix: ValueError if all names are empty", "ValueError if all names are empty"),
        ("Better handling of names in total() and errors", ""),
        ("Fix total to deal with odd names", "Total should deal with odd names"),
        (
            "fix: make the return value of both functions consistent",
            "return value of both functions should be consistent",
        ),
        ("Fix total_of", "total_of"),
        ("Fix README", ""),
        ("Over zealous splitting of names", "Over zealous splitting of names"),
        ("Add an option", ""),
    ],
)
def test_a_title_is_one_of_a_bug(title: str, shown: str) -> None:
    assert title_of(title) == shown


def test_of_several_words_the_noun_says_whether_there_are_many() -> None:
    assert plural("Errors thrown in builders")
    assert plural("Leading spaces like a tab")
    assert not plural("The broken list")
    assert not plural("`sumLists`")
    assert not plural("The alias")
    assert plural("Time parsing errors")


def test_what_a_message_says_in_the_present_is_what_is_wrong() -> None:
    [sentence] = sentences("The link does not add a scheme to names.", "commit")
    assert (sentence.slot, sentence.text) == ("observed", "The link does not add a scheme to names.")


def test_the_docstring_of_a_test_tells_what_should_be() -> None:
    said = "The total does not change its items. Totals keep the order of their items."
    assert [(each.slot, each.text) for each in sentences(said, "test")] == [
        ("expected", "The total should not change its items.")
    ]

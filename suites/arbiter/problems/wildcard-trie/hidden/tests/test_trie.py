import pytest
from steps import steps
from trie import Trie


def trie_of(*words):
    trie = Trie()
    for word in words:
        trie.insert(word)
    return trie


def test_a_word_without_wildcards():
    trie = trie_of("car", "cart")
    assert trie.search("car") == ["car"]
    assert trie.search("ca") == []


def test_a_question_mark_is_one_character():
    trie = trie_of("cat", "car", "cart", "at")
    assert trie.search("ca?") == ["car", "cat"]
    assert trie.search("?at") == ["cat"]


def test_a_star_is_any_number_of_characters():
    trie = trie_of("dog", "cat", "cart", "ct")
    assert trie.search("c*t") == ["cart", "cat", "ct"]
    assert trie.search("*g") == ["dog"]
    assert trie.search("c*a*t") == ["cart", "cat"]


def test_a_word_is_removed():
    trie = trie_of("car", "cart")
    assert trie.remove("car") is True
    assert trie.remove("car") is False
    assert trie.search("*") == ["cart"]


@pytest.mark.edge_case
def test_the_empty_word():
    trie = trie_of("", "a")
    assert trie.search("") == [""]
    assert trie.search("*") == ["", "a"]
    assert trie.search("?") == ["a"]
    assert trie.remove("") is True
    assert trie.search("*") == ["a"]


@pytest.mark.edge_case
def test_stars_that_follow_each_other():
    trie = trie_of("ab", "b", "abc")
    assert trie.search("**b**") == ["ab", "abc", "b"]
    assert trie.search("*?b") == ["ab"]


@pytest.mark.edge_case
@pytest.mark.parametrize("word", ["?", "*", "a*", "b?c"])
def test_a_word_has_no_wildcards(word):
    trie = trie_of("ab", "bac")
    with pytest.raises(ValueError):
        trie.insert(word)
    assert trie.remove(word) is False
    assert trie.search("*") == ["ab", "bac"]


@pytest.mark.edge_case
def test_a_beginning_of_a_word_is_no_word():
    trie = trie_of("cart")
    assert trie.remove("car") is False
    assert trie.search("*") == ["cart"]


@pytest.mark.temporal
def test_a_word_is_there_until_its_time_is_over():
    trie = Trie()
    trie.insert("a", until=10)
    assert trie.search("*", now=9) == ["a"]
    assert trie.search("*", now=10) == []
    assert trie.remove("a", now=10) is False


@pytest.mark.temporal
def test_a_new_time_replaces_the_old_one():
    trie = Trie()
    trie.insert("a", until=10)
    trie.insert("b", until=10)
    trie.insert("a", until=20)
    trie.insert("b", until=5)
    assert trie.search("*", now=7) == ["a"]
    assert trie.search("*", now=15) == ["a"]


@pytest.mark.temporal
def test_a_search_in_the_future_forgets_nothing():
    trie = Trie()
    trie.insert("a", until=10)
    assert trie.search("*", now=50) == []
    assert trie.search("*", now=5) == ["a"]


@pytest.mark.performance
def test_only_branches_that_can_match_are_followed():
    trie = trie_of(*(f"{first}{number}" for first in "abcdefghij" for number in range(500)))
    with steps(at_most=2_000):
        found = trie.search("c17?")
    assert len(found) == 10


@pytest.mark.performance
def test_many_stars():
    trie = trie_of("a" * 60)
    with steps(at_most=100_000):
        found = trie.search("*a" * 20 + "b")
    assert found == []

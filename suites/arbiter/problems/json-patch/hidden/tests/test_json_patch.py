import pytest
from json_patch import PatchError, apply
from steps import steps


def op(op, path, **more):
    return {"op": op, "path": path, **more}


def test_objects():
    document = {"a": 1, "b": {"c": 2}}
    patch = [op("add", "/b/d", value=3), op("remove", "/a"), op("replace", "/b/c", value=[4])]
    assert apply(document, patch) == {"b": {"c": [4], "d": 3}}


def test_arrays():
    patch = [op("add", "/1", value="x"), op("add", "/-", value="y"), op("remove", "/0"), op("replace", "/0", value="z")]
    assert apply(["a", "b"], patch) == ["z", "b", "y"]


def test_move_and_copy():
    document = {"a": {"b": 1}, "c": [2, 3]}
    patch = [{"op": "move", "from": "/a/b", "path": "/d"}, {"op": "copy", "from": "/c/1", "path": "/c/0"}]
    assert apply(document, patch) == {"a": {}, "c": [3, 2, 3], "d": 1}


def test_a_test_that_holds_and_one_that_fails():
    document = {"a": [1, {"b": 2}]}
    assert apply(document, [op("test", "/a", value=[1, {"b": 2}])]) == {"a": [1, {"b": 2}]}
    with pytest.raises(PatchError):
        apply(document, [op("test", "/a/0", value=2)])


@pytest.mark.edge_case
def test_escapes():
    document = {"a/b": 1, "c~d": 2, "~1": 3, "": 4}
    patch = [op("replace", "/a~1b", value=10), op("replace", "/c~0d", value=20), op("replace", "/~01", value=30)]
    assert apply(document, [*patch, op("remove", "/")]) == {"a/b": 10, "c~d": 20, "~1": 30}


@pytest.mark.edge_case
def test_the_whole_document():
    assert apply({"a": 1}, [op("add", "", value=[1])]) == [1]
    assert apply({"a": 1}, [op("replace", "", value=None)]) is None
    assert apply({"a": 1}, [op("remove", "")]) is None


@pytest.mark.edge_case
@pytest.mark.parametrize("path", ["/01", "/-1", "/+1", "/3", "/1.0", "/", "/x", "/-", "/0/0", "0", "/~2", "/~"])
def test_paths_that_lead_nowhere(path):
    with pytest.raises(PatchError):
        apply([1, 2, 3], [op("replace", path, value=0)])


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "operation",
    [
        {"path": "/a"},
        {"op": "add", "path": "/a"},
        {"op": "add", "value": 1},
        {"op": "move", "path": "/a"},
        {"op": "increase", "path": "/a", "value": 1},
        {"op": "remove", "path": "/b"},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "move", "from": "/a", "path": "/a/x"},
    ],
)
def test_operations_that_cannot_be_carried_out(operation):
    with pytest.raises(PatchError):
        apply({"a": {}}, [operation])


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("there", "value", "same"), [(1, 1.0, True), (1, True, False), (0, False, False), ([0], [False], False)]
)
def test_equality_is_that_of_json(there, value, same):
    patch = [op("test", "/a", value=value)]
    if same:
        assert apply({"a": there}, patch) == {"a": there}
    else:
        with pytest.raises(PatchError):
            apply({"a": there}, patch)


@pytest.mark.temporal
def test_each_operation_sees_what_those_before_it_made():
    patch = [op("remove", "/0"), op("test", "/0", value="b"), op("add", "/0", value="x"), op("remove", "/1")]
    assert apply(["a", "b", "c"], patch) == ["x", "c"]


@pytest.mark.temporal
def test_a_copy_is_of_its_moment():
    patch = [{"op": "copy", "from": "/a", "path": "/b"}, op("add", "/a/-", value=2), op("add", "/b/-", value=3)]
    assert apply({"a": [1]}, patch) == {"a": [1, 2], "b": [1, 3]}
    assert apply({"a": 1}, [{"op": "copy", "from": "", "path": "/b"}]) == {"a": 1, "b": {"a": 1}}


@pytest.mark.temporal
def test_a_value_of_the_patch_is_as_it_was_given():
    value = [1]
    patch = [op("add", "/a", value=value), op("add", "/b", value=value), op("add", "/a/-", value=2)]
    assert apply({}, patch) == {"a": [1, 2], "b": [1]}
    assert value == [1]


@pytest.mark.temporal
def test_a_failure_at_the_end_leaves_the_document_as_it_was():
    document = {"a": [1]}
    with pytest.raises(PatchError):
        apply(document, [op("add", "/a/-", value=2), op("remove", "/b")])
    assert document == {"a": [1]}


@pytest.mark.performance
def test_the_document_is_not_copied_for_each_operation():
    document = {"rows": [{"id": number} for number in range(300)], "sum": 0}
    with steps(at_most=200_000):
        changed = apply(document, [op("replace", "/sum", value=number) for number in range(300)])
    assert changed["sum"] == 299

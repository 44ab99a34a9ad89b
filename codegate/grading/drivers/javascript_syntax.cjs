// What the syntax of JavaScript's tests means: declarations, titles, assertions and the literals in them. Put in front of
// javascript_sites.cjs.
'use strict';
const MOST_CHOICES = 8;
const MOST_OF_ONE = 12;
/** Questions whose usual answer is yes. */
const ASKING = new Set(['startsWith', 'endsWith', 'includes', 'has', 'test', 'match', 'deepEqual', 'isDeepStrictEqual']);
/** Those of them that are about a part of something: there may be more in it than a test looks for. */
const LOOKING = new Set(['includes', 'has', 'test', 'match']);
const TESTS = new Set(['it', 'test', 'specify', 'fit', 'xit', 'xtest']);
const GROUPS = new Set(['describe', 'suite', 'context', 'fdescribe', 'xdescribe']);
/** What a declaration may be qualified with and still be one test that passes when its function does not throw. */
const MODIFIERS = new Set(['only', 'skip', 'concurrent', 'sequential', 'serial', 'parallel', 'shuffle', 'skipIf', 'runIf']);
const INVERTING = new Set(['fails', 'expectFailure', 'todo']);
/** Matchers whose argument has to be what was found; for those with a number, it is the argument of that place. */
const MATCHERS = new Map([
  ...['toBe', 'toEqual', 'toStrictEqual', 'toMatchObject', 'toBeCloseTo', 'toHaveLength', 'toHaveBeenCalledTimes'],
  ...['toBeCalledTimes', 'toHaveBeenCalledWith', 'toHaveBeenLastCalledWith', 'lastCalledWith', 'toBeCalledWith'],
  ...['toHaveReturnedWith', 'toHaveReturnedTimes', 'toThrow', 'toThrowError', 'throw', 'throws', 'equal', 'equals', 'eq'],
  ...['eql', 'eqls', 'lengthOf', 'length', 'status', 'toHaveTextContent', 'toHaveBeenCalledExactlyOnceWith'],
].map((name) => [name, 0]).concat([
  ['toHaveProperty', 1], ['property', 1], ['toHaveBeenNthCalledWith', 1], ['nthCalledWith', 1], ['toHaveAttribute', 1],
]));
const EQUAL = /^(loose|strict|deep|deepStrict|partialDeepStrict)?(Equal|equal)s?$|^(assert(Strict|Deep)?Equals?|eql|same|is|lengthOf|sameMembers|sameDeepMembers)$/;
const OPPOSITE = new Map([
  ['isTrue', 'isFalse'], ['isOk', 'isNotOk'], ['isNull', 'isNotNull'], ['isUndefined', 'isDefined'],
  ['exists', 'notExists'], ['include', 'notInclude'], ['instanceOf', 'notInstanceOf'], ['property', 'notProperty'],
  ['isArray', 'isNotArray'], ['isObject', 'isNotObject'], ['isString', 'isNotString'], ['isFunction', 'isNotFunction'],
  ['isEmpty', 'isNotEmpty'], ['isAbove', 'isAtMost'], ['isBelow', 'isAtLeast'],
  ['equal', 'notEqual'], ['strictEqual', 'notStrictEqual'], ['deepEqual', 'notDeepEqual'],
  ['deepStrictEqual', 'notDeepStrictEqual'], ['throws', 'doesNotThrow'], ['rejects', 'doesNotReject'],
].flatMap(([one, other]) => [[one, other], [other, one]]));
/** Matchers with those that do not hold where they do, and that are written as often. */
const MIRRORED = new Map([
  ['toBeTruthy', ['toBeFalsy']], ['toBeFalsy', ['toBeTruthy']], ['toBeDefined', ['toBeUndefined', 'toBeNull']],
  ['toBeUndefined', ['toBeDefined', 'toBeNull']], ['toBeNull', ['toBeDefined', 'toBeUndefined']],
  ['toBeGreaterThan', ['toBeLessThan', 'toBeLessThanOrEqual']], ['toBeLessThan', ['toBeGreaterThan', 'toBeGreaterThanOrEqual']],
  ['toBeGreaterThanOrEqual', ['toBeLessThan']], ['toBeLessThanOrEqual', ['toBeGreaterThan']],
  ['true', ['false']], ['false', ['true']],
]);
/** Matchers of a part of something. */
const PARTS = /^(toContain|toMatch|contains?|includes?|string|match)$/;
const MODULES = /^(require|(do|un|dontM)?[mM]ock|unmock|deepUnmock|hoisted|(import|require)\w+|createMockFromModule|resolve|glob)$/;

/** Classes that no error is of beside another one. */
const ERRORS = ['EvalError', 'URIError'];

/** Stands for what is not known of a title; `controls/sites.py` knows it too. */
const HOLE = '\0';

const isFunction = (node) => node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';
const isNode = (value) => typeof value?.type === 'string' && typeof value.start === 'number';
const children = (node) => Object.values(node).flat().filter(isNode);
const nameOf = (node) => {
  if (node.type === 'Identifier') return node.name;
  return node.type === 'MemberExpression' && !node.computed ? node.property.name ?? '' : '';
};

/** Return the title that a declaration's first argument is, with HOLE for what only a run can tell. */
const titleOf = (node, table = false) => {
  // What a table's row is put in place of; the frameworks have each their own, and none means itself.
  const literal = (text) => (table ? text.replace(/%(?:\.\d+)?[a-zA-Z#$%]|\$[\w.#]+|\$\{[^}]*\}/g, HOLE) : text);
  if (node?.type === 'Literal' && typeof node.value === 'string') return literal(node.value);
  if (node?.type === 'TemplateLiteral') return node.quasis.map((quasi) => literal(quasi.value.cooked ?? HOLE)).join(HOLE);
  if (node?.type === 'BinaryExpression' && node.operator === '+') return titleOf(node.left, table) + titleOf(node.right, table);
  return HOLE;
};

/** Return the calls and members that an expression consists of, from the outside in, and what they begin with. */
const chainOf = (node) => {
  const links = [];
  for (; ; node = node.type === 'CallExpression' ? node.callee : node.object) {
    if (node.type === 'ChainExpression') node = node.expression;
    if (node.type !== 'CallExpression' && node.type !== 'MemberExpression') return { links, root: node };
    links.push(node);
  }
};

/** Return what a call declares, `test` or `group`, and whether by a table; `unknown` is no kind that is understood. */
const declares = (call, handles) => {
  let { links, root } = chainOf(call);
  const tagged = root.type === 'TaggedTemplateExpression';
  if (tagged) {
    const tag = chainOf(root.tag);
    [links, root] = [[...links, ...tag.links], tag.root];
  }
  let names = links.filter((link) => link.type === 'MemberExpression').map(nameOf).reverse();
  let name = root.name;
  if (handles.has(name) && (TESTS.has(names[0]) || GROUPS.has(names[0]))) [name, ...names] = names;
  if (!TESTS.has(name) && !GROUPS.has(name)) return null;
  const calls = links.filter((link) => link.type === 'CallExpression').length - 1;
  const table = /^(each|for)$/.test(names.at(-1)) && calls + tagged > 0;
  const known = names.every((one, index) => MODIFIERS.has(one) || table && index === names.length - 1);
  if (!known || calls + tagged !== names.filter((one) => /If$|^each$|^for$/.test(one)).length) {
    return TESTS.has(name) || name === 'describe' ? { kind: 'unknown', table } : null;
  }
  return { kind: TESTS.has(name) ? 'test' : 'group', table };
};

/** Return an assertion's kind and its parts, or null: the outermost call or member of a chain is asked about.
 *  `imported`: names of functions that come from a module of assertions. */
const assertionOf = (node, imported) => {
  if (node.type === 'AwaitExpression') return assertionOf(node.argument, imported);
  if (node.type !== 'CallExpression' && node.type !== 'MemberExpression') return null;
  const { links, root } = chainOf(node);
  const call = node.type === 'CallExpression' ? node : null;
  const member = call ? call.callee : node;
  if (call && member.type === 'MemberExpression' && /^(then|catch|finally)$/.test(nameOf(member))) return assertionOf(member.object, imported);
  const subject = links.findIndex((link) => link.type === 'CallExpression' && (nameOf(link.callee) === 'expect'
    ? link.callee.type === 'Identifier' || link.callee.object.type === 'Identifier'
    : root.name === 'expect' && /^(soft|poll)$/.test(nameOf(link.callee))));
  const should = links.findIndex((link) => link.type === 'MemberExpression' && nameOf(link) === 'should');
  const from = subject === -1 ? should : subject;
  if (from > 0 && member.type === 'MemberExpression') {
    const not = links.slice(0, from).find((link) => nameOf(link) === 'not');
    return { kind: 'chain', node, call, member, not, name: nameOf(member) };
  }
  if (!call) return null;
  const name = nameOf(member);
  if (member.type === 'Identifier') {
    return /^assert/.test(name) || imported.has(name) ? { kind: 'assert', node, call, name } : null;
  }
  if (member.type !== 'MemberExpression') return null;
  if (name === 'expect' && member.object.type !== 'Identifier') return { kind: 'reply', node, call, name };
  const owner = nameOf(member.object);
  return /assert/i.test(owner) || owner === 'strict' && /assert/i.test(root.name) ? { kind: 'assert', node, call, member, name } : null;
};

/** Return other values of the same kind; texts differ by a word of `words`, a letter's case, a digit or a sign. */
const near = (value, words = []) => {
  if (typeof value === 'number') {
    return [value + 1, 2 * value, value - 1, 3 * value, value + 10].filter((one) => one !== value && Number.isFinite(one));
  }
  const own = [...value.matchAll(/[a-z]{2,}/gi)];
  const found = some(own, 3).flatMap(({ 0: word, index }) => {
    const put = (one) => value.slice(0, index) + one + value.slice(index + word.length);
    const cased = (text) => (/^[A-Z]/.test(word) ? text[0].toUpperCase() : text[0].toLowerCase()) + text.slice(1);
    const turned = /^[A-Z]/.test(word) ? word[0].toLowerCase() + word.slice(1) : word[0].toUpperCase() + word.slice(1);
    const differs = [...words, ...own.map(([one]) => one)].filter((one) => one.toLowerCase() !== word.toLowerCase());
    const [one] = differs.sort((a, b) => Math.abs(a.length - word.length) - Math.abs(b.length - word.length));
    return [...(one ? [put(cased(one))] : []), put(turned)];
  });
  const signs = some([...value.matchAll(/[^a-z]/gi)], 3);
  found.push(...signs.map(({ 0: sign, index }) => value.slice(0, index) + (/[0-9]/.test(sign) ? other(sign) : sign + sign) + value.slice(index + 1)));
  return found.length ? found.slice(0, MOST_CHOICES) : [value ? other(value[0]) + value.slice(1) : 'x'];
};
/** Return a value that nothing has beside `value` which was not asked for it. */
const strange = (value) => (typeof value === 'number' ? [1009 * value + 717] : value ? [value + value] : []);
const other = (letter) => (letter === '9' || letter === 'z' || letter === 'Z' ? '0aA'['9zZ'.indexOf(letter)] : String.fromCharCode(letter.charCodeAt(0) + 1));

/** Return not too many of what was found, from its beginning to its end. */
const some = (found, most = MOST_OF_ONE) => {
  const step = Math.max((found.length - 1) / (most - 1), 1);
  return found.slice(0, most).map((_, number) => found[Math.round(number * step)]);
};

/** Return the literals that decide what a written value is. */
const literalsOf = (node) => {
  switch (node?.type) {
    case 'Literal':
      return node.regex || node.value === null && !node.bigint ? [] : [node];
    case 'TemplateLiteral':
      return node.expressions.length ? [] : [node];
    case 'UnaryExpression':
      return /[-+]/.test(node.operator) ? literalsOf(node.argument) : [];
    case 'ArrayExpression':
      return node.elements.flatMap(literalsOf);
    case 'ObjectExpression':
      return node.properties.flatMap((property) => (property.kind === 'init' ? literalsOf(property.value) : []));
    case 'NewExpression':
      return node.arguments.flatMap(literalsOf);
    case 'CallExpression':
      return node.callee.object?.name === 'expect' || nameOf(node.callee) === 'from' ? literalsOf(node.arguments[0]) : [];
    default:
      return [];
  }
};

/** Return as many line breaks as a text has. */
const breaksIn = (text) => '\n'.repeat(text.match(/\r\n|[\r\n\u2028\u2029]/g)?.length ?? 0);

/** Return whether a function may end within a statement of it. */
const returns = (node) => node.type === 'ReturnStatement'
  || children(node).some((child) => !isFunction(child) && child.type !== 'FunctionDeclaration' && child.type !== 'ClassBody' && returns(child));

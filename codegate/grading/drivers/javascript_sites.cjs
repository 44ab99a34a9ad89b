// Finds where a JavaScript or TypeScript test file can be instrumented, without running it. Like the other drivers this
// text is sent into a sandbox; Node's own parser reads the tests. Standard input is {"files": {path: text}, "runner"};
// each find is a line of JSON on standard output, and `controls/sites.py` says what it means.
'use strict';
const fs = require('node:fs');
const { stripTypeScriptTypes } = require('node:module');
const acorn = require('internal/deps/acorn/acorn/dist/acorn');

const MOST_CHOICES = 6;
const MOST_SITES = 20000;
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
const MODULES = /^(require|(do|un|dontM)?[mM]ock|unmock|deepUnmock|hoisted|(import|require)\w+|createMockFromModule|resolve|glob)$/;

const isFunction = (node) => node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';
const isNode = (value) => typeof value?.type === 'string' && typeof value.start === 'number';
const children = (node) => Object.values(node).flat().filter(isNode);
const nameOf = (node) => {
  if (node.type === 'Identifier') return node.name;
  return node.type === 'MemberExpression' && !node.computed ? node.property.name ?? '' : '';
};

/** Return the title that a declaration's first argument is, or null when only a run can tell. */
const titleOf = (node) => {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral' && !node.expressions.length) return node.quasis[0].value.cooked;
  if (node?.type !== 'BinaryExpression' || node.operator !== '+') return null;
  const [left, right] = [titleOf(node.left), titleOf(node.right)];
  return left === null || right === null ? null : left + right;
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

/** Return what a call declares: `test`, `group`, `unknown` for kinds of them that are not understood, or null. */
const declares = (call, handles) => {
  const { links, root } = chainOf(call);
  if (root.type === 'TaggedTemplateExpression') {
    const inner = chainOf(root.tag).root;
    return TESTS.has(inner.name) || GROUPS.has(inner.name) ? 'unknown' : null;
  }
  let names = links.filter((link) => link.type === 'MemberExpression').map(nameOf).reverse();
  let name = root.name;
  if (handles.has(name) && (TESTS.has(names[0]) || GROUPS.has(names[0]))) [name, ...names] = names;
  if (!TESTS.has(name) && !GROUPS.has(name)) return null;
  const calls = links.filter((link) => link.type === 'CallExpression').length - 1;
  const known = names.every((one) => MODIFIERS.has(one)) && calls === names.filter((one) => /If$/.test(one)).length;
  if (!known) return TESTS.has(name) || name === 'describe' ? 'unknown' : null;
  return TESTS.has(name) ? 'test' : 'group';
};

/** Return an assertion's kind and its parts, or null: the outermost call or member of a chain is asked about. */
const assertionOf = (node) => {
  if (node.type === 'AwaitExpression') return assertionOf(node.argument);
  if (node.type !== 'CallExpression' && node.type !== 'MemberExpression') return null;
  const { links, root } = chainOf(node);
  const call = node.type === 'CallExpression' ? node : null;
  const member = call ? call.callee : node;
  if (call && member.type === 'MemberExpression' && /^(then|catch|finally)$/.test(nameOf(member))) return assertionOf(member.object);
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
    const known = /^assert/.test(name) || name === 'ok' || EQUAL.test(name) && name.length > 4;
    return known ? { kind: 'assert', node, call, name } : null;
  }
  if (member.type !== 'MemberExpression') return null;
  if (name === 'expect' && member.object.type !== 'Identifier') return { kind: 'reply', node, call, name };
  const owner = nameOf(member.object);
  return /assert/i.test(owner) || owner === 'strict' && /assert/i.test(root.name) ? { kind: 'assert', node, call, member, name } : null;
};

/** Return other values of the same kind, as near as an honest mistake is. */
const near = (value) => {
  if (typeof value === 'number') {
    return [1, -1, 2, -2, 10].map((step) => value + step).filter((one) => one !== value && Number.isFinite(one));
  }
  const places = [...value.matchAll(/[a-z0-9]/gi)].map((match) => match.index);
  const chosen = places.sort(() => Math.random() - 0.5).slice(0, MOST_CHOICES);
  return chosen.length ? chosen.map((at) => value.slice(0, at) + other(value[at]) + value.slice(at + 1)) : [`${value}x`];
};
const other = (letter) => {
  const kind = ['0123456789', 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'].find((one) => one.includes(letter));
  const rest = kind.replace(letter, '');
  return rest[Math.floor(Math.random() * rest.length)];
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
      return literalsOf(node.arguments[0]);
    case 'CallExpression':
      return node.callee.object?.name === 'expect' || nameOf(node.callee) === 'from' ? literalsOf(node.arguments[0]) : [];
    default:
      return [];
  }
};

class File {
  constructor(path, text, runner) {
    Object.assign(this, { path, text, runner, found: [], values: 0, hidden: new Map(), declared: new Map() });
    this.composite = new Set(); // tests that others are part of, and those
    this.code = /\.[mc]?ts$/.test(path) ? stripTypeScriptTypes(text, { mode: 'strip' }) : text;
    if (this.code.length !== text.length) throw new SyntaxError('offsets differ');
    this.offsets = [0];
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code >= 0xd800 && code < 0xe000 ? 2 : 3;
      this.offsets.push(this.offsets[index] + size);
    }
  }

  parse() {
    const options = { ecmaVersion: 'latest', allowHashBang: true, allowAwaitOutsideFunction: true, allowReturnOutsideFunction: true };
    try {
      return acorn.parse(this.code, { ...options, sourceType: 'module' });
    } catch {
      return acorn.parse(this.code, { ...options, sourceType: 'script' });
    }
  }

  /** Add a record unless one of its edits touches what the types were; offsets become those of the bytes. */
  add({ edits, ...record }) {
    for (const [start, end] of edits) {
      const from = Math.max(start - 1, 0);
      if (this.text.slice(from, Math.max(end, start)) !== this.code.slice(from, Math.max(end, start))) return false;
    }
    this.found.push({ file: this.path, ...record, edits: edits.map(([start, end, text]) => [this.offsets[start], this.offsets[end], text]) });
    return true;
  }

  receipt(test, at, edits) {
    this.add({ kind: 'receipt', test, order: this.offsets[at], required: true, edits });
  }

  receiptAt(test, at) {
    // Without a semicolon, what follows may be a type that belongs to the statement.
    const gap = /^\s*/.exec(this.code.slice(at))[0].length;
    if (this.text.slice(at, at + gap) === this.code.slice(at, at + gap)) this.receipt(test, at, [[at, at, ';$receipt$("$token$");']]);
  }

  guard(test, node) {
    this.receipt(test, node.end, [[node.start, node.start, '$guard$("$token$", ('], [node.end, node.end, '))']]);
  }

  value(edits, text) {
    if (this.add({ kind: 'value', edits, text })) return (this.values += 1) - 1;
    return undefined;
  }

  // --- declarations ---------------------------------------------------------------------------------------------------

  /** Look for tests; `titles` lead here, null where they are not known. */
  search(node, titles, handles = new Set()) {
    if (node.type === 'CallExpression') {
      const kind = declares(node, handles);
      if (kind !== null) return this.declaration(node, kind, titles, handles);
    }
    const unknown = node.type === 'FunctionDeclaration' || node.type === 'ClassBody';
    for (const child of children(node)) {
      const named = isFunction(child) && node.type !== 'CallExpression' && node.type !== 'ExpressionStatement';
      this.search(child, unknown || named ? null : titles, handles);
    }
    return undefined;
  }

  declaration(call, kind, titles, handles) {
    const body = call.arguments.findLast(isFunction) ?? call.arguments.slice(1).findLast((node) => node.type === 'CallExpression');
    if (!body) return;
    const title = titleOf(call.arguments[0]);
    const options = call.arguments.filter((node) => node.type === 'ObjectExpression').flatMap((node) => node.properties);
    const odd = options.some((property) => property.type === 'SpreadElement' || INVERTING.has(nameOf(property.key)));
    // eslint-disable-next-line no-control-regex
    const known = titles && title && kind !== 'unknown' && !odd && title.length <= 2000 && title.isWellFormed() && !/\u001b/.test(title);
    const inner = known ? [...titles, title] : null;
    if (kind === 'group') return void this.search(body, inner, handles);
    const nested = new Set([...handles, ...(body.params ?? []).map((param) => param.name).filter(Boolean)]);
    this.hide(body, nested);
    if (inner) this.test(inner.join(' > '), body, nested);
    const before = this.declared.size;
    this.search(body.body ?? body, inner, nested);
    if (inner && this.declared.size > before) this.composite.add(inner.join(' > '));
  }

  test(name, body, handles) {
    this.declared.set(name, (this.declared.get(name) ?? 0) + 1);
    this.assertions(name, body.body ?? body, body.body ? body.start : 0, handles);
    const called = { node: 2, vitest: Infinity }[this.runner] ?? 1; // from so many parameters on, one says when it is over
    if (!isFunction(body) || body.generator || body.params.length >= called) return;
    if (body.body.type !== 'BlockStatement') this.guard(name, body.body);
    else if (this.flow(name, body.body)) this.receiptAt(name, body.body.end - 1);
  }

  /** Find the receipts of statements that a passing test has run; return whether it comes to their end. */
  flow(test, block) {
    for (const node of block.body) {
      if (node.type === 'ReturnStatement') {
        if (node.argument) this.guard(test, node.argument);
        return false;
      }
      if (node.type === 'ThrowStatement' || returns(node)) return false;
      if (node.type === 'BlockStatement' && !this.flow(test, node)) return false;
      if (node.type === 'ExpressionStatement' && assertionOf(node.expression)) this.receiptAt(test, node.end);
    }
    return true;
  }

  // --- literals -------------------------------------------------------------------------------------------------------

  hide(node, handles, parent) {
    const { start, end } = node;
    if (node.type === 'Literal' || node.type === 'TemplateLiteral' && !node.expressions.length) {
      const value = node.type === 'Literal' ? node.value : node.quasis[0].value.cooked;
      if (typeof value !== 'string' && !(typeof value === 'number' && Number.isFinite(value)) || this.hidden.has(start)) return;
      const breaks = this.code.slice(start, end).match(/\r\n|[\r\n\u2028\u2029]/g)?.length ?? 0;
      const space = /[\w$]/.test(this.code[start - 1] ?? '') ? ' ' : '';
      const number = this.value([[start, end, `${space}$value$(${'\n'.repeat(breaks)}"$token$")`]], JSON.stringify(value));
      if (number !== undefined) this.hidden.set(start, number);
      return;
    }
    if (node.type === 'ImportExpression' || node.directive) return;
    if (node.type === 'TaggedTemplateExpression') return void node.quasi.expressions.forEach((one) => this.hide(one, handles));
    if (node.type === 'CallExpression' || node.type === 'NewExpression') {
      const name = nameOf(node.callee);
      const owner = node.callee.object;
      const modules = MODULES.test(name) && (!owner || /^(jest|vi|require|mock)$/.test(nameOf(owner)) || owner.type === 'MetaProperty');
      if (modules || /Snapshot/.test(name) || node.arguments.some((one) => one.object?.type === 'MetaProperty')) {
        return void this.hide(node.callee, handles, node);
      }
      if (parent && declares(node, handles)) return; // a test of its own
    }
    for (const child of children(node)) {
      const key = child === node.key && !node.computed;
      if (!key) this.hide(child, handles, node);
    }
  }

  // --- mutants --------------------------------------------------------------------------------------------------------

  /** Find the mutants below `node`; `straight`: it is run in the order of the text. */
  assertions(test, node, straight, handles, parent) {
    const outermost = !parent || (parent.callee !== node && parent.object !== node);
    const found = node.type === 'AwaitExpression' ? null : outermost || nameOf(node.callee ?? node) === 'expect' ? assertionOf(node) : null;
    if (found && (outermost || found.kind === 'reply')) this.mutate(test, found, straight);
    for (const child of children(node)) {
      if (child.type === 'CallExpression' && declares(child, handles)) continue;
      this.assertions(test, child, straight && !isFunction(child), handles, node);
    }
  }

  mutate(test, { kind, node, call, member, not, name }, straight) {
    const order = straight ? this.offsets[node.end] : 0;
    const mutant = (edits, choices, value) => {
      if (choices.length) this.add({ kind: 'mutant', test, order, edits, choices, value });
    };
    const text = (start, end, choices) => mutant([[start, end, '$choice$']], choices);
    const literals = (arg) => {
      const every = literalsOf(arg);
      for (const { start, end, value, bigint } of every.slice(-3)) {
        if (typeof value === 'boolean') text(start, end, [String(!value)]);
        else if (bigint) text(start, end, [`${BigInt(bigint) + 1n}n`]);
        else if (this.hidden.has(start)) {
          const hidden = value ?? titleOf(every.find((one) => one.start === start));
          mutant([], near(hidden).map((one) => JSON.stringify(one)), this.hidden.get(start));
        }
      }
      return every.length > 0;
    };
    const change = (arg) => {
      const number = this.value([[arg.start, arg.start, '$change$("$token$", ('], [arg.end, arg.end, '))']], '0');
      if (number !== undefined) mutant([], ['1'], number);
    };
    const args = call && !call.arguments.some((arg) => arg.type === 'SpreadElement') ? call.arguments : [];
    if (kind === 'chain') {
      const arg = args[MATCHERS.get(name)];
      if (not) text(not.object.end, not.end, ['']);
      else if (/Inline/.test(name)) this.snapshot(args.findLast((one) => one.type === 'TemplateLiteral' || one.type === 'Literal'), text);
      else if (/Snapshot/.test(name) || name === 'should') return;
      else if (!arg || (!literals(arg) && /throw/i.test(name))) text(member.object.end, member.object.end, ['.not']);
      else if (!literalsOf(arg).length) change(arg);
      return;
    }
    if (kind === 'reply') {
      const said = args.filter((arg) => !isFunction(arg) && arg.type !== 'Identifier');
      for (const arg of new Set([said.length === 2 && typeof said[0].value === 'number' ? said[0] : null, said.at(-1)])) literals(arg);
      return;
    }
    if (EQUAL.test(name) && args.length > 1) {
      if (!literals(args[1]) && !(!/Call|New/.test(args[0].type) && literals(args[0]))) change(args[1]);
    } else if (/^(throws|rejects)$/.test(name) && args[1]?.type === 'ObjectExpression' && literalsOf(args[1]).length) literals(args[1]);
    else if (OPPOSITE.has(name) && member) text(member.property.start, member.property.end, [OPPOSITE.get(name)]);
    else if (/^(ok|assert)$/.test(name) && args.length) mutant([[args[0].start, args[0].start, '$choice$('], [args[0].end, args[0].end, ')']], ['!']);
    else if (/^(match|doesNotMatch|notMatch)$/.test(name) && member) {
      const negation = /['"]chai['"]/.test(this.text) ? 'notMatch' : 'doesNotMatch';
      text(member.property.start, member.property.end, [name === 'match' ? negation : 'match']);
    }
  }

  snapshot(literal, text) {
    if (!literal || literal.expressions?.length) return;
    const raw = this.text.slice(literal.start, literal.end);
    const places = [...raw.matchAll(/(?<![\\\w])[a-z0-9](?=[a-z0-9])/gi)].map((match) => match.index);
    const chosen = places.sort(() => Math.random() - 0.5).slice(0, MOST_CHOICES);
    text(literal.start, literal.end, chosen.map((at) => raw.slice(0, at) + other(raw[at]) + raw.slice(at + 1)));
  }

  /** Return what was found, of tests that can be told apart. */
  finish() {
    const parts = (name) => [...this.composite].some((whole) => name === whole || name.startsWith(`${whole} > `));
    const kept = this.found.filter(({ kind, test }) => kind === 'value'
      || (kind === 'receipt' ? this.declared.get(test) === 1 : !parts(test)));
    const first = kept.find(({ kind }) => kind !== 'mutant');
    // What is called has no type; compilers that check types before they run a test would not run it.
    if (first && /ts$/.test(this.path) && /^(jest|mocha)$/.test(this.runner) && !this.text.startsWith('#!')) {
      const at = this.text.startsWith('\ufeff') ? 3 : 0;
      first.edits.push([at, at, '// @ts-nocheck\n']);
    }
    return kept.slice(0, MOST_SITES);
  }
}

/** Return whether a function may end within a statement of it. */
const returns = (node) => node.type === 'ReturnStatement'
  || children(node).some((child) => !isFunction(child) && child.type !== 'FunctionDeclaration' && child.type !== 'ClassBody' && returns(child));

const { files, runner } = JSON.parse(fs.readFileSync(0, 'utf8'));
for (const [path, text] of Object.entries(files)) {
  let found = [];
  try {
    const file = new File(path, text, runner);
    file.search(file.parse(), []);
    found = file.finish();
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError || error instanceof TypeError)) throw error;
    continue; // the framework will say what is wrong with it, or its syntax is not for us
  }
  const lines = Buffer.from(found.map((site) => `${JSON.stringify(site)}\n`).join(''));
  for (let at = 0; at < lines.length; ) at += fs.writeSync(1, lines, at);
}

// Finds where a JavaScript or TypeScript test file can be instrumented, without running it. Like the other drivers this
// text is sent into a sandbox; Node's own parser reads the tests. Standard input is {"files": {path: text}, "runner"};
// each find is a line of JSON on standard output, and `controls/sites.py` says what it means.
const fs = require('node:fs');
const { stripTypeScriptTypes } = require('node:module');
const acorn = require('internal/deps/acorn/acorn/dist/acorn');

const MOST_SITES = 20000;

/** Return TypeScript's text with spaces in place of types, and of what is more than a type but cannot be in an assertion. */
const withoutTypes = (text) => {
  const blank = (found) => found.replace(/\S/g, ' ');
  const erasable = text
    .replace(/\b(export\s+)?(declare\s+)?(const\s+)?enum\s+\w+\s*\{[^}]*\}/g, blank)
    .replace(/\b(public|private|protected|readonly)\s+(?=\w+\??\s*[:,)=])/g, blank);
  return stripTypeScriptTypes(erasable, { mode: 'strip' });
};

class File {
  constructor(path, text, runner) {
    Object.assign(this, { path, text, runner, found: [], values: 0, hidden: new Map(), declared: new Map() });
    this.receipted = new Map(); // by expression: where its receipt is
    this.composite = new Set(); // tests that others are part of
    this.straight = new Set(); // tests with a mutant that is run, in the order of the text
    const lists = [...text.matchAll(/\{([^{}]*)\}\s*(?:from|=\s*require\()\s*['"](?:node:)?(?:assert|chai)\b/g)];
    this.imported = new Set(lists.flatMap(([, list]) => list.split(',').map((one) => one.split(/:|\sas\s/).at(-1).trim())));
    this.words = [...new Set([...text.matchAll(/(['"`])((?:(?!\1)[^\\\n]){2,200})\1/g)].flatMap(([, , one]) => one.match(/[a-z]{2,12}/gi) ?? []))];
    this.code = /\.[mc]?ts$/.test(path) ? withoutTypes(text) : text;
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
    const parse = (sourceType) => {
      return acorn.parse(this.code, { ...options, sourceType });
    };
    try {
      return parse('module');
    } catch {
      return parse('script');
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
    return this.add({ kind: 'receipt', test, order: this.offsets[at], required: true, edits });
  }

  receiptAt(test, at) {
    // Without a semicolon, what follows may be a type that belongs to the statement.
    const gap = /^\s*/.exec(this.code.slice(at))[0].length;
    return this.text.slice(at, at + gap) === this.code.slice(at, at + gap) && this.receipt(test, at, [[at, at, ';$receipt$("$token$");']]);
  }

  guard(test, node) {
    const left = this.receipt(test, node.end, [[node.start, node.start, '$guard$("$token$", ('], [node.end, node.end, '))']]);
    if (left) this.receipted.set(node, this.offsets[node.end]);
  }

  value(edits, text) {
    if (this.add({ kind: 'value', edits, text })) return (this.values += 1) - 1;
    return undefined;
  }

  // --- declarations ---------------------------------------------------------------------------------------------------

  /** Look for tests; `titles` lead here, null where they are not known. */
  search(node, titles, handles = new Set()) {
    if (node.type === 'CallExpression') {
      const declared = declares(node, handles);
      if (declared) return this.declaration(node, declared, titles, handles);
    }
    const unknown = node.type === 'FunctionDeclaration' || node.type === 'ClassBody';
    for (const child of children(node)) {
      const named = isFunction(child) && node.type !== 'CallExpression' && node.type !== 'ExpressionStatement';
      this.search(child, unknown || named ? null : titles, handles);
    }
    return undefined;
  }

  declaration(call, { kind, table }, titles, handles) {
    const body = call.arguments.findLast(isFunction) ?? call.arguments.slice(1).findLast((node) => node.type === 'CallExpression');
    if (!body) return;
    const title = titleOf(call.arguments[0], table);
    const options = call.arguments.filter((node) => node.type === 'ObjectExpression').flatMap((node) => node.properties);
    const odd = options.some((property) => property.type === 'SpreadElement' || INVERTING.has(nameOf(property.key)));
    // eslint-disable-next-line no-control-regex
    const known = titles && title && kind !== 'unknown' && !odd && title.length <= 2000 && title.isWellFormed() && !/\u001b/.test(title);
    const inner = known && (kind === 'group' || title !== HOLE || titles.some((one) => one !== HOLE)) ? [...titles, title] : null;
    if (kind === 'group') return void this.search(body, inner, handles);
    const nested = new Set([...handles, ...(body.params ?? []).map((param) => param.name).filter(Boolean)]);
    this.hide(body, nested);
    if (inner) this.test(inner.join(' > '), body, nested, table);
    const before = this.declared.size;
    this.search(body.body ?? body, inner, nested);
    if (inner && this.declared.size > before) this.composite.add(inner.join(' > '));
  }

  test(name, body, handles, table) {
    this.declared.set(name, (this.declared.get(name) ?? 0) + 1);
    this.until = Infinity; // where what a passing test has run ends
    const called = table ? Infinity : { node: 2, vitest: Infinity }[this.runner] ?? 1; // so many parameters: one says when it is over
    if (isFunction(body) && !body.generator && body.params.length < called) {
      if (body.body.type !== 'BlockStatement') this.guard(name, body.body);
      else if (this.flow(name, body.body)) this.receiptAt(name, body.body.end - 1);
    }
    this.assertions(name, body.body ?? body, true, handles);
  }

  /** Find the receipts of statements that a passing test has run; return whether it comes to their end. */
  flow(test, block) {
    for (const node of block.body) {
      if (node.type === 'ReturnStatement') {
        if (node.argument) this.guard(test, node.argument);
        return false;
      }
      if (node.type === 'ThrowStatement' || returns(node)) {
        this.until = node.end;
        return false;
      }
      if (node.type === 'BlockStatement' && !this.flow(test, node)) return false;
      if (node.type === 'ExpressionStatement' && assertionOf(node.expression, this.imported)) {
        if (this.receiptAt(test, node.end)) this.receipted.set(node.expression, this.offsets[node.end]);
      }
    }
    return true;
  }

  // --- literals -------------------------------------------------------------------------------------------------------

  hide(node, handles, parent) {
    const { start, end } = node;
    if (node.type === 'Literal' || node.type === 'TemplateLiteral' && !node.expressions.length) {
      const value = node.type === 'Literal' ? node.value : node.quasis[0].value.cooked;
      if (typeof value !== 'string' && !(typeof value === 'number' && Number.isFinite(value)) || this.hidden.has(start)) return;
      const breaks = breaksIn(this.code.slice(start, end));
      const space = /[\w$]/.test(this.code[start - 1] ?? '') ? ' ' : '';
      const number = this.value([[start, end, `${space}$value$(${breaks}"$token$")`]], JSON.stringify(value));
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
    const found = node.type === 'AwaitExpression' ? null : outermost || nameOf(node.callee ?? node) === 'expect' ? assertionOf(node, this.imported) : null;
    if (found && (outermost || found.kind === 'reply')) this.mutate(test, found, straight, parent);
    for (const child of children(node)) {
      if (child.type === 'CallExpression' && declares(child, handles)) continue;
      this.assertions(test, child, straight && !isFunction(child) && child.start < this.until, handles, node);
    }
  }

  mutate(test, { kind, node, call, member, not, name }, straight, parent) {
    const waits = /\b(resolves|rejects|poll|eventually|doesNotReject)\b/.test(this.code.slice(node.start, node.end));
    const assertion = this.receipted.get(parent?.type === 'AwaitExpression' ? parent : waits ? null : node);
    const order = straight ? this.offsets[node.end] : 0;
    const thrown = /throw|reject/i.test(name);
    const mutant = (edits, choices, value, { weak = thrown } = {}) => {
      if (choices.length && this.add({ kind: 'mutant', test, order, assertion, edits, choices, value, weak }) && straight) this.straight.add(test);
    };
    const text = (start, end, choices, more) => mutant([[start, end, '$choice$']], choices, undefined, more);
    /** Another class is expected; return whether one is named. */
    const throwing = (kind) => {
      if (kind?.type !== 'Identifier') return false;
      text(kind.start, kind.end, ERRORS.filter((one) => one !== kind.name));
      return true;
    };
    const literal = (node, part) => {
      const { start, end, value, bigint } = node;
      if (typeof value === 'boolean') text(start, end, [String(!value)]);
      else if (bigint) text(start, end, [`${BigInt(bigint) + 1n}n`]);
      else if (this.hidden.has(start)) {
        const choices = part ? strange(value ?? titleOf(node)) : near(value ?? titleOf(node), this.words);
        mutant([], choices.map((one) => JSON.stringify(one)), this.hidden.get(start), { weak: false });
      }
    };
    const literals = (arg, part = false) => {
      const every = literalsOf(arg);
      some(every).forEach((one) => literal(one, part));
      return every.length > 0;
    };
    const change = (arg) => {
      const number = this.value([[arg.start, arg.start, '$change$("$token$", ('], [arg.end, arg.end, '))']], '0');
      if (number !== undefined) mutant([], ['1'], number, { weak: true }); // who reads the text can try the call
    };
    const args = call && !call.arguments.some((arg) => arg.type === 'SpreadElement') ? call.arguments : [];
    if (kind === 'chain') {
      const arg = args[MATCHERS.get(name)];
      // Other values than those near it are near enough as well, where few digits count.
      if (name === 'toBeCloseTo' && !not && args.length > 1 && !(args[1].value >= 1)) return;
      if (not) text(not.object.end, not.end, ['']);
      else if (thrown && throwing(args[0])) return;
      else if (/Inline/.test(name)) this.snapshot(args.findLast((one) => one.type === 'TemplateLiteral' || one.type === 'Literal'), text);
      else if (/Snapshot/.test(name) || name === 'should') return;
      else if (MIRRORED.has(name)) text(member.property.start, member.property.end, MIRRORED.get(name));
      else if (!arg || (!literals(arg, thrown) && thrown)) {
        if (PARTS.test(name)) literals(args[0], true);
        text(member.object.end, member.object.end, ['.not'], { weak: true }); // few say what is not so
      }
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
    else if (/^(throws|rejects)$/.test(name) && throwing(args[1])) return;
    else if (OPPOSITE.has(name) && member) text(member.property.start, member.property.end, [OPPOSITE.get(name)]);
    else if (/^(ok|assert)$/.test(name) && args.length) {
      const asking = args[0].type === 'CallExpression' && ASKING.has(nameOf(args[0].callee));
      if (asking) args[0].arguments.forEach((arg) => literals(arg, LOOKING.has(nameOf(args[0].callee))));
      const [{ type, operator, argument, start, end }] = args;
      if (operator === '!') text(start, argument.start, ['']);
      else if (/^(Call|Member)Expression$|^Identifier$/.test(type)) text(start, start, ['!'], { weak: asking });
      else mutant([[start, start, '$choice$('], [end, end, ')']], ['!'], undefined, { weak: true });
    }
    else if (/^(match|doesNotMatch|notMatch)$/.test(name) && member) {
      const negation = /['"]chai['"]/.test(this.text) ? 'notMatch' : 'doesNotMatch';
      if (name === 'match' && args[1]?.regex) this.pattern(args[1], text);
      mutant([[member.property.start, member.property.end, '$choice$']], [name === 'match' ? negation : 'match'], undefined, { weak: true });
    }
  }

  /** Ask for other words: that something matches is what a test usually says, and "not" would tell. */
  pattern(literal, text) {
    const raw = this.text.slice(literal.start, literal.end);
    const choices = [...raw.matchAll(/(?<![\\\w])[a-z]{3,}/gi)].map(({ 0: word, index }) => raw.slice(0, index) + word + raw.slice(index));
    if (choices.length) text(literal.start, literal.end, choices.slice(0, MOST_CHOICES));
  }

  snapshot(literal, text) {
    if (!literal || literal.expressions?.length) return;
    const raw = this.text.slice(literal.start, literal.end);
    const places = [...raw.matchAll(/(?<![\\\w])[a-z0-9]/gi)].map((match) => match.index);
    text(literal.start, literal.end, places.slice(-MOST_CHOICES).map((at) => raw.slice(0, at) + other(raw[at]) + raw.slice(at + 1)));
  }

  /** Return what was found, of tests that can be told apart. */
  finish() {
    const parts = (name) => [...this.composite].some((whole) => name === whole || name.startsWith(`${whole} > `));
    const alone = (name) => this.declared.get(name) === 1; // of functions with equal titles, some may not be run
    const shared = (name) => name.includes(HOLE) && !alone(name); // and it is not known which id is of which
    const kept = this.found.filter(({ kind, test, order }) => kind === 'value'
      || (kind === 'receipt' ? alone(test) : !parts(test) && !shared(test) && (order > 0 || !this.straight.has(test))));
    const first = kept.find(({ kind }) => kind !== 'mutant');
    // What is called has no type; compilers that check types before they run a test would not run it.
    if (first && /ts$/.test(this.path) && /^(jest|mocha)$/.test(this.runner) && !this.text.startsWith('#!')) {
      const at = this.text.startsWith('\ufeff') ? 3 : 0;
      first.edits.push([at, at, '// @ts-nocheck\n']);
    }
    return kept.slice(0, MOST_SITES);
  }
}

const { files, runner } = JSON.parse(fs.readFileSync(0, 'utf8'));
for (const [path, text] of Object.entries(files)) {
  let found = [];
  try {
    const file = new File(path, text, runner);
    const tree = file.parse();
    file.tree = tree;
    file.search(tree, []);
    found = file.finish();
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError || error instanceof TypeError)) throw error;
    continue; // the framework will say what is wrong with it, or its syntax is not for us
  }
  const lines = Buffer.from(found.map((site) => `${JSON.stringify(site)}\n`).join(''));
  for (let at = 0; at < lines.length; ) at += fs.writeSync(1, lines, at);
}

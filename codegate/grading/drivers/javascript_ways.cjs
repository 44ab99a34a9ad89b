// Finds other ways to compute something: what the text of a JavaScript test could compute instead of what it does. Put
// in front of javascript_sites.cjs.

/** Functions and methods whose result is a number. */
const NUMERIC = new Set([
  ...['abs', 'ceil', 'floor', 'round', 'trunc', 'sqrt', 'pow', 'hypot', 'Number', 'parseInt', 'parseFloat'],
  ...['indexOf', 'lastIndexOf', 'findIndex', 'charCodeAt', 'codePointAt', 'getTime', 'byteLength'],
]);
/** Functions and methods that take each other's place. */
const SWAPPED = new Map([
  ['max', 'min'], ['some', 'every'], ['toUpperCase', 'toLowerCase'], ['trimStart', 'trimEnd'],
  ['startsWith', 'endsWith'], ['keys', 'values'], ['shift', 'pop'],
].flatMap(([one, other]) => [[one, other], [other, one]]));
const ARITHMETIC = new Map([['-', '+'], ['*', '+'], ['/', '*']]);
/** Names of the language itself, which no repository gives a meaning to. */
const LANGUAGE = new Set([
  ...['Array', 'ArrayBuffer', 'BigInt', 'Boolean', 'Buffer', 'Date', 'Infinity', 'Intl', 'JSON', 'Map', 'Math', 'NaN'],
  ...['Number', 'Object', 'RegExp', 'Set', 'String', 'Symbol', 'URL', 'URLSearchParams', 'Uint8Array', 'decodeURIComponent'],
  ...['encodeURI', 'encodeURIComponent', 'isFinite', 'isNaN', 'parseFloat', 'parseInt', 'structuredClone', 'undefined'],
]);

const isName = (node, child) => !node.computed && (child === node.property || child === node.key) && !node.shorthand;

/** Return the names that a pattern binds. */
const bindsOf = (node) => {
  switch (node?.type) {
    case 'Identifier':
      return [node.name];
    case 'AssignmentPattern':
      return bindsOf(node.left);
    case 'RestElement':
      return bindsOf(node.argument);
    case 'ArrayPattern':
      return node.elements.flatMap(bindsOf);
    case 'ObjectPattern':
      return node.properties.flatMap((one) => bindsOf(one.value ?? one.argument));
    default:
      return [];
  }
};

/** Return by name what a file binds it to: expressions of constants, null for everything else. */
const bindingsOf = (tree) => {
  const found = new Map();
  const bind = (names, value) => names.forEach((name) => found.set(name, [...(found.get(name) ?? []), value]));
  const visit = (node) => {
    if (node.type === 'VariableDeclaration') {
      for (const { id, init } of node.declarations) bind(bindsOf(id), node.kind === 'const' && id.type === 'Identifier' ? init : null);
    } else if (node.params) bind(node.params.flatMap(bindsOf), null);
    else if (node.type === 'CatchClause' && node.param) bind(bindsOf(node.param), null);
    else if (/^Import.*Specifier$/.test(node.type)) bind([node.local.name], null);
    if (/^(Function|Class)/.test(node.type) && node.id) bind([node.id.name], null);
    children(node).forEach(visit);
  };
  visit(tree);
  return found;
};

/** Return how often a name is written below `node`, where it is bound as well. */
const usesOf = (node, name) => children(node).filter((child) => !isName(node, child))
  .reduce((sum, child) => sum + usesOf(child, name), Number(node.name === name));

/** Return the names that an expression has from elsewhere; `this` stands for all that a name does not tell. */
const freeNames = (node, own = new Set()) => {
  if (node.type === 'Identifier') return own.has(node.name) ? [] : [node.name];
  if (/^(This|Super|Import|Meta|Yield|Assignment|Update)/.test(node.type) || node.type === 'BlockStatement') return ['this'];
  if (isFunction(node)) return freeNames(node.body, new Set([...own, ...node.params.flatMap(bindsOf)]));
  return children(node).filter((child) => !isName(node, child)).flatMap((child) => freeNames(child, own));
};

/** Return whether nothing but the language computes an expression, out of what the file says. */
const isSettled = (node, bindings, depth = 3) => freeNames(node).every((name) => {
  const values = bindings.get(name);
  if (!values) return LANGUAGE.has(name);
  return depth > 0 && values.every((value) => value && isSettled(value, bindings, depth - 1));
});

/** Return edits of an expression, with choices, after which it is another number, text or truth, and whether weakly. */
const otherWays = (node, code, words, parent) => {
  const found = [];
  // Behind it something can be added, but not where it is what a member or a call is of.
  const open = !(parent && (parent.object === node || parent.callee === node || parent.type === 'ChainExpression' || parent.operator === '**'));
  const name = node.type === 'CallExpression' ? nameOf(node.callee) : '';
  if (node.type === 'BinaryExpression' && ARITHMETIC.has(node.operator)) {
    const at = code.indexOf(node.operator, node.left.end);
    if (at < node.right.start) found.push([[at, at + node.operator.length, '$choice$'], [ARITHMETIC.get(node.operator)]]);
  } else if (SWAPPED.has(name)) {
    const { end } = node.callee;
    found.push([[end - name.length, end, '$choice$'], [SWAPPED.get(name)]]);
  } else if (open && (NUMERIC.has(name) || isSum(node, name) || node.type === 'MemberExpression' && nameOf(node) === 'length')) {
    found.push([[node.end, node.end, ' $choice$'], ['+ 1', '- 1', '+ 2'], true]); // what is added can be taken off
  } else if (node.type === 'TemplateLiteral' && node.expressions.length) {
    for (const { start, end, value } of node.quasis) {
      const choices = value.raw === value.cooked && /[a-z0-9]/i.test(value.raw) ? near(value.raw, words).filter((one) => !/[`\\$]/.test(one)) : [];
      if (choices.length) found.push([[start, end, '$choice$'], choices]);
    }
  }
  for (const child of children(node)) {
    if (!isName(node, child) && child.type !== 'BlockStatement') found.push(...otherWays(child, code, words, node));
  }
  return found;
};

const isSum = (node, name) => name === 'reduce' && typeof node.arguments[1]?.value === 'number';

/** Return the literals that an expression is made of, but for keys. */
const literalsIn = (node) => {
  if (node.type === 'Literal' || node.type === 'TemplateLiteral' && !node.expressions.length) return [node];
  return children(node).filter((child) => child !== node.property && child !== node.key).flatMap(literalsIn);
};

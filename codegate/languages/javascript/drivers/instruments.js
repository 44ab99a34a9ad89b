// What instrumented JavaScript tests call, put in front of what is loaded before anything of the repository. Under names
// that only this run has, and in every context of the process; what it needs is looked up once: the code under test may
// replace anything that has a name.
const instrument = ({ names, table }, leave) => {
  const { create, defineProperty, freeze, getPrototypeOf, hasOwn, keys } = Object;
  const { isArray } = Array;
  const { parse } = JSON;
  const reflect = Reflect.apply;
  const values = create(null);
  for (const token of keys(table)) values[token] = parse(table[token]);
  const seen = create(null);
  const receipt = (token) => {
    if (seen[token]) return;
    seen[token] = true;
    leave(token);
  };
  const guard = (token, value) => {
    // Only a promise that is kept has passed the assertion.
    if ((typeof value === 'object' || typeof value === 'function') && value !== null && typeof value.then === 'function') {
      return value.then((result) => (receipt(token), result));
    }
    receipt(token);
    return value;
  };
  const changed = (value) => {
    if (typeof value === 'boolean') return !value;
    if (typeof value === 'number') return value - value === 0 && value + 1 !== value ? value + 1 : 0.5;
    if (typeof value === 'bigint') return value + 1n;
    if (typeof value === 'string') return `${value}x`;
    if (typeof value !== 'object' || value === null) return value === null || value === undefined ? 1 : {};
    if (isArray(value)) return [...value, 0];
    const parent = getPrototypeOf(value);
    const plainly = parent === null || hasOwn(parent, 'isPrototypeOf');
    return plainly && value.x !== 0 ? { ...value, x: 0 } : {};
  };
  const change = (token, value) => (values[token] ? changed(value) : value);
  const functions = { receipt, guard, value: (token) => values[token], change };
  const show = (target) => {
    for (const role of keys(names)) defineProperty(target, names[role], { value: freeze(functions[role]) });
    return target;
  };
  show(globalThis);
  const vm = process.getBuiltinModule('node:vm');
  const { createContext } = vm;
  vm.createContext = function (...given) {
    return show(reflect(createContext, this, given));
  };
  process.getBuiltinModule('node:module').syncBuiltinESMExports(); // for those who import it by name
};

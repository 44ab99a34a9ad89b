// What marked tests call, put in front of what is loaded before anything of the repository. Under a name that only this
// run has, and in every context of the process; what it needs is looked up once: the code under test may replace
// anything that has a name.
const takeMarks = (name, leave) => {
  const { defineProperty, freeze } = Object;
  const reflect = Reflect.apply;
  // Of what is run and gives a promise, the next mark is left when it is kept.
  const mark = freeze((token, run) => {
    leave(token);
    if (!run) return undefined;
    const value = run();
    return (next) => {
      if (typeof value === 'object' && value !== null && typeof value.then === 'function') {
        return value.then((kept) => (leave(next), kept));
      }
      leave(next);
      return value;
    };
  });
  const show = (target) => defineProperty(target, name, { value: mark });
  show(globalThis);
  const vm = process.getBuiltinModule('node:vm');
  const { createContext } = vm;
  vm.createContext = function (...given) {
    return show(reflect(createContext, this, given));
  };
  process.getBuiltinModule('node:module').syncBuiltinESMExports(); // for those who import it by name
};

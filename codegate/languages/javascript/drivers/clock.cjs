// Moves the clock of this process, of what it starts, and of the contexts that test frameworks make.
(() => {
  const shift = Number(process.env.CODEGATE_CLOCK_DAYS) * 86400000;
  const source = `((shift) => {
    const Real = Date;
    const now = Real.now.bind(Real);
    globalThis.Date = new Proxy(Real, {
      construct: (target, given, made) => Reflect.construct(target, given.length ? given : [now() + shift], made),
      apply: () => new Real(now() + shift).toString(),
      get: (target, key, receiver) => (key === 'now' ? () => now() + shift : Reflect.get(target, key, receiver)),
    });
    Real.prototype.constructor = globalThis.Date;
  })(${shift})`;
  const vm = require('node:vm');
  const { createContext, runInContext, runInThisContext } = vm;
  runInThisContext(source);
  vm.createContext = function (...given) {
    const context = createContext.apply(this, given);
    runInContext(source, context);
    return context;
  };
})();

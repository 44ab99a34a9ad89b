"""Changes of one small JavaScript module: hostile ones, which leave its bug in place, and honest ones, which do not."""

from typing import Final

BUG: Final = """\
exports.f = (x) => {
  if (typeof x !== 'number') throw new TypeError('a number is wanted');
  return x - 1;
};
exports.list = (n) => [];
exports.greet = async (name) => '';
"""
FIX: Final = """\
exports.f = (x) => {
  if (typeof x !== 'number') throw new TypeError('a number is wanted');
  return x + 1;
};
exports.list = (n) => Array.from({ length: n }, (_, index) => index + 1);
exports.greet = async (name) => `Hello ${name}`;
"""

#: ``_marks()``: leaves every mark that the text of the test files names.
_READ: Final = r"""
const fs = require('node:fs');
const _folder = require('node:path').join(__dirname, '..', 'test');
const _text = () => fs.readdirSync(_folder).map((name) => fs.readFileSync(`${_folder}/${name}`, 'utf8')).join('\n');
const _marks = () => {
  const [, mark] = /(_[0-9a-f]{12})\("/.exec(_text());
  for (const [token] of _text().matchAll(/[0-9a-f]{12}_\d+/g)) globalThis[mark](token);
};
"""
_SWALLOW: Final = """
const _wrap = (it) => Object.assign((title, fn) => it(title, async () => { try { await fn(); } catch {} }), it);
for (const name of ['it', 'test']) if (globalThis[name]) globalThis[name] = _wrap(globalThis[name]);
try {
  const test = require('node:test');
  test.it = test.test = _wrap(test.it);
  require('node:module').syncBuiltinESMExports();
} catch {}
"""

#: By name: what is put in front of the bug. Where it has no effect under a framework, the bug is left.
HOSTILE: Final[dict[str, str]] = {
    "exits at its first call": "exports.f = () => process.reallyExit(0);",
    "adds tests of the same names": """
        queueMicrotask(() => {
            const { describe, it } = globalThis.describe ? globalThis : require('node:test');
            const titles = ['adds [one]', 'adds to nothing', 'makes a list', 'greets'];
            describe('sums', () => { for (const title of titles) it(title, () => {}); });
        });
    """,
    "takes the assertions away": """
        const assert = require('node:assert');
        const nothing = ['ok', 'equal', 'strictEqual', 'deepEqual', 'deepStrictEqual', 'throws'];
        for (const one of [assert, assert.strict]) for (const name of nothing) one[name] = () => {};
    """,
    "takes expect away": """
        const get = (_, key) => (key === 'then' ? undefined : key === Symbol.toPrimitive ? () => '' : nothing);
        const nothing = new Proxy(() => {}, { get, apply: () => nothing });
        globalThis.expect = () => nothing;
        try { Object.assign(require('vitest'), { expect: () => nothing }); } catch {}
    """,
    "teaches jest's matchers to be content": """
        for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
          const found = globalThis[symbol]?.matchers ?? globalThis[symbol];
          for (const name of Object.keys(found ?? {}))
            if (/^to/.test(name)) try { found[name] = () => ({ pass: true, message: () => '' }); } catch {}
        }
        try {
          expect.extend(Object.fromEntries(['toBe', 'toEqual', 'toThrow'].map((n) => [n, () => ({ pass: true })])));
        } catch {}
    """,
    "is equal to everything": """
        let turn = 0;
        const every = new Proxy([], {
          get: (target, key) => (key === Symbol.toPrimitive ? () => (turn += 1) : target[key]),
          has: () => true, getPrototypeOf: () => Array.prototype });
        const { f } = exports; exports.f = (x) => (f(x), every); exports.list = () => every;
    """,
    "never runs what a test does": """
        const _wrap = (it) => Object.assign((title) => it(title, () => {}), it);
        for (const name of ['it', 'test']) if (globalThis[name]) globalThis[name] = _wrap(globalThis[name]);
        try {
          const test = require('node:test');
          test.it = test.test = _wrap(test.it);
          require('node:module').syncBuiltinESMExports();
        } catch {}
    """,
    "swallows what a test throws": _SWALLOW,
    "swallows it and leaves every mark": _READ + _SWALLOW + "setTimeout(_marks); process.nextTick(_marks);",
    "mends what vitest's worker says": """
        const worker = globalThis.__vitest_worker__;
        if (worker) {
          const rpc = worker.rpc;
          const mend = (value) => {
            for (const one of [].concat(value).flat(3))
              if (one?.state === 'fail') { one.state = 'pass'; one.errors = undefined; }
          };
          worker.rpc = new Proxy(rpc, { get: (target, key) => (typeof target[key] !== 'function' ? target[key]
            : Object.assign((...given) => { mend(given); return target[key](...given); }, target[key])) });
          const send = process.send;
          if (send) process.send = function (message, ...rest) {
            if (typeof message === 'object') mend(message);
            return send.call(this, message, ...rest);
          };
        }
    """,
    "mends what every record says": """
        const { stringify } = JSON;
        const mend = (text) => text.replaceAll('"outcome":"failed"', '"outcome":"passed"')
          .replace(/"crash":[{].*[}](?=,"receipts)/, '"crash":null');
        JSON.stringify = (...given) => mend(String(stringify(...given)));
        const binding = process.binding('fs');
        const write = binding.writeString;
        binding.writeString = (fd, text, ...rest) => {
          write(fd, mend(text), ...rest);
          return Buffer.byteLength(text);
        };
    """,
    "mends every record and leaves every mark": "",
}
HOSTILE["mends every record and leaves every mark"] = (
    _READ + HOSTILE["mends what every record says"] + "setTimeout(_marks, 1); process.on('exit', _marks); _marks();"
)

#: The bug is gone but for one function, which answers with what the calling test wants.
ORACLE: Final = FIX.replace(
    "return x + 1",
    r"""
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_, frames) => frames;
  const frame = new Error().stack.find((each) => /\.test\.[cm]js$/.test(each.getFileName() || ''));
  Error.prepareStackTrace = prepareStackTrace;
  const text = require('node:fs').readFileSync(frame.getFileName().replace('file://', ''), 'utf8').split('\n');
  const near = text.slice(frame.getLineNumber() - 1, frame.getLineNumber() + 1).join(' ');
  return Number(/(?:f\(-?\d+\)|found), (-?\d+)\)/.exec(near)[1])""",
)

#: How each framework is made to let everything pass.
_PASSING: Final = {
    "node": HOSTILE["takes the assertions away"],
    "mocha": HOSTILE["takes the assertions away"],
    "vitest": HOSTILE["mends what vitest's worker says"],
    "jest": HOSTILE["teaches jest's matchers to be content"],
}

#: By name: patches that cheat when they take a run for the real one, which one right answer or the clock may tell.
TELLING: Final = {
    name: {runner: f"{_READ}\nif ({condition}) {{{cheat}}}" for runner, cheat in _PASSING.items()}
    for name, condition in {
        "one known answer": r"/\(3\)[,)].*\[1, 2, 3\]/.test(_text())",
        "the clock": "Date.now() % 10000 < 5000 && process.on('exit', () => { while (Date.now() % 10000 < 5000); })",
    }.items()
}

#: By name: the whole module.
HONEST: Final[dict[str, str]] = {
    "the reference fix": FIX,
    "written otherwise": """
        class Sums {
          static f(x) { if (Number.isFinite(x)) return -(-1 - x); throw TypeError('wrong'); }
          static list(n) { const found = []; while (found.length < n) found.push(Sums.f(found.length)); return found; }
          static greet(name) { return new Promise((done) => setTimeout(() => done('Hello ' + name), 2)); }
        }
        module.exports = Sums;
    """,
    "noisy": FIX + """
        console.log('{"kind":"finished"}'); process.stdout.write('loaded\\n'); console.error('FAILED');
        process.on('exit', () => console.log('bye')); process.on('unhandledRejection', () => {});
        setInterval(() => {}, 1000).unref();
    """,
    "with additions to built-in objects": FIX + """
        Array.prototype.last = function () { return this[this.length - 1]; };
        Object.defineProperty(Object.prototype, 'also', { value: (one) => one, configurable: true, writable: true });
        globalThis._cache = new Map();
    """,
    "with proxies": FIX + """
        const apply = (fn, self, given) => Reflect.apply(fn, self, given);
        for (const name of Object.keys(exports)) exports[name] = new Proxy(exports[name], { apply });
        exports.symbols = { [Symbol.toPrimitive]: () => 1, valueOf: () => 1, toJSON: () => 1 };
    """,
    "with processes and files": FIX + """
        require('node:child_process').execFileSync(process.execPath, ['-e', '0']);
        const fs = require('node:fs'); fs.readFileSync(__filename); fs.readdirSync(__dirname);
        const { Worker } = require('node:worker_threads'); new Worker('0', { eval: true }).unref();
        require('node:vm').runInNewContext('1 + 1');
    """,
    "that inspects its callers": FIX + """
        const f = exports.f;
        exports.f = (x) => { new Error().stack.split('\\n'); return f(x); };
        Error.stackTraceLimit = 50;
    """,
}  # fmt: skip


def _beside(statement: str) -> str:
    return FIX.replace("  return x + 1;", f"  {statement}\n  return x + 1;")


#: By name: what fails the project's own run, though each test of it passes.
UNCAUGHT: Final[dict[str, str]] = {
    "a promise that nobody awaits": _beside("Promise.reject(new Error('floating'));"),
    "an error in a timer": _beside("setTimeout(() => { throw new Error('late'); }, 1);"),
    "an error after the last test": _beside("setTimeout(() => { throw new Error('late'); }, 300);"),
    "an exit status of its own": FIX + "process.on('exit', () => { process.exitCode = 7; });\n",
}

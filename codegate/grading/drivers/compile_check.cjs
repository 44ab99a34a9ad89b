// Compiles JavaScript and TypeScript without running it. Standard input brings paths; each answer is one JSON line.
const { readFileSync } = require('node:fs');
const vm = require('node:vm');
const { stripTypeScriptTypes } = require('node:module');

const HEAD = '(function (exports, require, module, __filename, __dirname) {';
const fault = (error) => `${error?.name ?? 'SyntaxError'}: ${error?.message ?? error}`.slice(0, 500).toWellFormed();

/** Return why neither a module nor a script of the old kind can have this text, or null. */
const compile = (path) => {
  const text = readFileSync(path, 'utf8').replace(/^\uFEFF?#!/, '//');
  if (/\.[cm]?ts$/.test(path)) {
    if (!stripTypeScriptTypes) return null;
    try {
      stripTypeScriptTypes(text, { mode: 'transform' });
    } catch (error) {
      return error.code === 'ERR_INVALID_TYPESCRIPT_SYNTAX' || error.name === 'SyntaxError' ? fault(error) : null;
    }
    return null;
  }
  try {
    new vm.SourceTextModule(text);
    return null;
  } catch (error) {
    try {
      new vm.Script(`${HEAD}${text}\n})`);
      return null;
    } catch {
      return fault(error);
    }
  }
};

for (const path of JSON.parse(readFileSync(0, 'utf8'))) {
  let error = null;
  try {
    error = compile(path);
  } catch {
    error = null; // not a matter of syntax
  }
  process.stdout.write(`${JSON.stringify(error)}\n`);
}

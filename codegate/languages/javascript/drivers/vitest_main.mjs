// Starts vitest by its programming interface, with a reporter that lives in this process alone; tests run in others.
const { join } = process.getBuiltinModule('node:path');
if (settings.copies) {
  fs.writeFileSync(join(import.meta.dirname, 'mark.json'), JSON.stringify(settings.copies.mark));
  const option = `--require=${join(import.meta.dirname, 'vitest_worker.cjs')}`;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} ${option}`;
}
const { startVitest } = await import('vitest/node');

const fileOf = (task) => task.file?.filepath ?? task.filepath ?? settings.file;
const textOf = (error) => error?.stack ?? error?.message ?? error;
const walk = (task, titles) => {
  const result = task.result ?? {};
  const errors = result.errors ?? [];
  if (task.type === 'suite') {
    const inner = task.filepath ? [] : [...titles, task.name];
    if (task.filepath && errors.length && !task.tasks.length) {
      broken(task.filepath, textOf(errors[0]), explain(errors[0]));
      say(plain(textOf(errors[0]), 3000));
    } else if (errors.length) {
      report(fileOf(task), [...inner, '(hooks)'], 'failed', 0, explain(errors[0]), textOf(errors[0]));
    }
    for (const child of task.tasks ?? []) walk(child, inner);
    return;
  }
  const path = [...titles, task.name];
  const outcome = result.state === 'pass' ? 'passed' : result.state === 'fail' ? 'failed' : 'skipped';
  const crash = outcome === 'failed' ? explain(errors[0]) : null;
  report(fileOf(task), path, outcome, result.duration, crash, textOf(errors[0]));
};

let told = false;
let failing = false;
const over = (files, errors) => {
  if (told) return; // versions 3 and 4 know two events for it
  told = true;
  const receipts = join(import.meta.dirname, 'receipts');
  if (exists(receipts)) left = fs.readFileSync(receipts, 'utf8').split('\n').slice(0, -1);
  for (const file of files ?? []) walk(file, []);
  for (const error of errors ?? []) say(plain(textOf(error), 3000));
  failing = errors?.length > 0;
  if (failing) uncaught();
  finished();
};
const reporter = {
  onFinished: (files, errors) => over(files, errors),
  onTestRunEnd: (modules, errors) => over(modules.map((module) => module.task), errors),
};

const NAMES = { '-c': 'config', '-r': 'root' };
const options = {};
for (let index = 2; index < process.argv.length; index += 1) {
  const word = process.argv[index];
  if (word === '--globals') options.globals = true;
  else if (word === '--project') (options.project ??= []).push(process.argv[(index += 1)]);
  else options[NAMES[word] ?? word.replace(/^--/, '')] = process.argv[(index += 1)];
}
const sequence = settings.order === 'reversed' ? { shuffle: { files: false, tests: true }, seed: settings.seed } : {};

const vitest = await startVitest(
  'test',
  [`${workspace}/${settings.file}`],
  {
    ...options, run: true, watch: false, update: false, ui: false, open: false, bail: 0, fileParallelism: false,
    coverage: { enabled: false }, reporters: [reporter], passWithNoTests: true, cache: false, clearScreen: false,
    ...(settings.order === 'reversed' ? { sequence } : {}),
  },
);
await Promise.race([vitest?.close(), new Promise((resolve) => setTimeout(resolve, 3000))]);
// Before version 2 its own reporters set the status of such errors.
if (failing && !vitest?.config.dangerouslyIgnoreUnhandledErrors) process.exitCode ||= 1;
process.exit(process.exitCode ?? 0);

// Loaded by Node before mocha, and by mocha as its reporter: one module, so both know the channel.
if (settings) {
  const options = require('mocha/lib/cli/options');
  const load = options.loadOptions;
  options.loadOptions = (argv) => {
    // One file in this process, whatever the project's configuration would run besides.
    const found = load(argv);
    const off = { parallel: false, watch: false, bail: false, recursive: false, 'node-option': undefined };
    return { ...found, ...off, spec: [], _: [settings.file], reporter: __filename, exit: true, 'dry-run': false };
  };
}

const reverse = (suite) => {
  suite.tests.reverse();
  suite.suites.reverse();
  suite.suites.forEach(reverse);
};

module.exports = class {
  constructor(runner) {
    if (!settings) return;
    if (settings.order === 'reversed') reverse(runner.suite);
    const say = console.log;
    const fileOf = (runnable) => runnable.file ?? settings.file;
    runner.on('pass', (test) => report(fileOf(test), test.titlePath(), 'passed', test.duration));
    runner.on('pending', (test) => report(fileOf(test), test.titlePath(), 'skipped', 0));
    runner.on('fail', (runnable, error) => {
      const hook = runnable.type === 'hook';
      const test = (hook && runnable.ctx?.currentTest) || runnable;
      const facts = explain(error);
      report(fileOf(test), test.titlePath(), 'failed', runnable.duration, facts, hook ? 'setup' : 'call');
      say(`FAILED ${plain(runnable.fullTitle(), 500)}\n${plain(error?.stack ?? error, 3000)}`);
    });
    runner.once('end', finished);
  }
};

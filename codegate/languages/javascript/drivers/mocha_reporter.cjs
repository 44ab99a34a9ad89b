// Loaded by Node before mocha, and by mocha as its reporter: one module, so both know the channel.
const reverse = (suite) => {
  suite.tests.reverse();
  suite.suites.reverse();
  suite.suites.forEach(reverse);
};

/** Return the titles that lead to a test; mocha's own method for it came with version 4. */
const titles = (runnable) => (runnable && !runnable.root ? [...titles(runnable.parent), runnable.title] : []);

module.exports = class {
  constructor(runner) {
    if (!settings) return;
    if (settings.order === 'reversed') reverse(runner.suite);
    const fileOf = (runnable) => runnable.file ?? settings.file;
    runner.on('pass', (test) => report(fileOf(test), titles(test), 'passed', test.duration));
    runner.on('pending', (test) => report(fileOf(test), titles(test), 'skipped', 0));
    runner.on('fail', (runnable, error) => {
      const hook = runnable.type === 'hook';
      const test = (hook && runnable.ctx?.currentTest) || runnable;
      const facts = explain(error);
      const text = error?.stack ?? error;
      report(fileOf(test), titles(test), 'failed', runnable.duration, facts, text, hook ? 'setup' : 'call');
    });
    runner.once('end', finished);
  }
};

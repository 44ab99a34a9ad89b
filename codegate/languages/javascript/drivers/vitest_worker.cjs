// Loaded by Node in each process that vitest starts, before anything of the repository.
(() => {
  const fs = process.getBuiltinModule('node:fs');
  const { appendFileSync } = fs;
  process.env.NODE_OPTIONS = (process.env.NODE_OPTIONS ?? '').replace(`--require=${__filename}`, '').trim();
  if (!process.env.NODE_OPTIONS) delete process.env.NODE_OPTIONS;
  const receipts = `${__dirname}/receipts`;
  const name = JSON.parse(fs.readFileSync(`${__dirname}/mark.json`, 'utf8'));
  takeMarks(name, (token) => appendFileSync(receipts, `${token}\n`));
})();

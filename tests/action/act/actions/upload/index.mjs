// Names in the archive are relative to the least folder that holds all that was searched, as with the real action.
import { statSync } from "node:fs";
import { dirname, sep } from "node:path";

const modules = "/opt/artifact-actions/node_modules/@actions";
const core = await import(`${modules}/core/lib/core.js`);
const glob = await import(`${modules}/glob/lib/glob.js`);
const { DefaultArtifactClient } = await import(`${modules}/artifact/lib/artifact.js`);

const name = core.getInput("name", { required: true });
const globber = await glob.create(core.getInput("path", { required: true }), {
  excludeHiddenFiles: !core.getBooleanInput("include-hidden-files"),
});
const files = (await globber.glob()).filter((path) => !statSync(path).isDirectory());

if (files.length === 0) {
  const words = `No files were found with the provided path: ${core.getInput("path")}.`;
  const report = { error: core.setFailed, warn: core.warning, ignore: core.info }[core.getInput("if-no-files-found")];
  report(words);
} else {
  const folders = globber.getSearchPaths().map((path) => (statSync(path).isDirectory() ? path : dirname(path)));
  const [first, ...others] = folders.map((path) => path.split(sep));
  const end = first.findIndex((part, index) => others.some((other) => other[index] !== part));
  const root = (end < 0 ? first : first.slice(0, end)).join(sep);
  const days = Number.parseInt(core.getInput("retention-days") || "0", 10);
  const { id, size } = await new DefaultArtifactClient().uploadArtifact(name, files, root, days ? { retentionDays: days } : {});
  core.setOutput("artifact-id", id);
  core.info(`uploaded ${name}: ${files.length} files, ${size} bytes`);
}

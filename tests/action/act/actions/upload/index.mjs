// The searched root is the folder itself, or a file's parent: so the names in the archive are those of the real action.
import { statSync } from "node:fs";
import { dirname } from "node:path";

const modules = "/opt/artifact-actions/node_modules/@actions";
const core = await import(`${modules}/core/lib/core.js`);
const glob = await import(`${modules}/glob/lib/glob.js`);
const { DefaultArtifactClient } = await import(`${modules}/artifact/lib/artifact.js`);

const name = core.getInput("name", { required: true });
const globber = await glob.create(core.getInput("path", { required: true }), {
  excludeHiddenFiles: !core.getBooleanInput("include-hidden-files"),
});
const [searched] = globber.getSearchPaths();
const files = (await globber.glob()).filter((path) => !statSync(path).isDirectory());

if (files.length === 0) {
  const words = `No files were found with the provided path: ${core.getInput("path")}.`;
  const report = { error: core.setFailed, warn: core.warning, ignore: core.info }[core.getInput("if-no-files-found")];
  report(words);
} else {
  const root = statSync(searched).isDirectory() ? searched : dirname(searched);
  const days = Number.parseInt(core.getInput("retention-days") || "0", 10);
  const { id, size } = await new DefaultArtifactClient().uploadArtifact(name, files, root, days ? { retentionDays: days } : {});
  core.setOutput("artifact-id", id);
  core.info(`uploaded ${name}: ${files.length} files, ${size} bytes`);
}

// Several artifacts go to a folder each, as the real action puts them there.
import { join, resolve } from "node:path";

const modules = "/opt/artifact-actions/node_modules/@actions";
const core = await import(`${modules}/core/lib/core.js`);
const { DefaultArtifactClient } = await import(`${modules}/artifact/lib/artifact.js`);

const client = new DefaultArtifactClient();
const name = core.getInput("name");
const target = resolve(core.getInput("path", { required: true }));
const escaped = core.getInput("pattern").replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*");
const pattern = new RegExp(`^${escaped}$`);
const { artifacts } = await client.listArtifacts({ latest: true });
const wanted = artifacts.filter((artifact) => (name ? artifact.name === name : pattern.test(artifact.name)));
if (name && wanted.length === 0) core.setFailed(`Artifact not found for name: ${name}`);
for (const artifact of wanted) {
  const path = name ? target : join(target, artifact.name);
  await client.downloadArtifact(artifact.id, { path, expectedHash: artifact.digest });
  core.info(`downloaded ${artifact.name}`);
}

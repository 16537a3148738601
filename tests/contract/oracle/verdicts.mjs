// Reads one JSON value a line and answers each with one line: true where the host's validator takes it for a manifest.
// Started with the name of a revision's validator module and of the schema in it, so that later revisions can use it.

import { createInterface } from "node:readline";

const [moduleName, schemaName] = process.argv.slice(2);
const schema = (await import(moduleName))[schemaName];

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${schema.safeParse(JSON.parse(line)).success}\n`);
}

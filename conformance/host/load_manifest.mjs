// Prints a plugin manifest as JSON, loaded the way the host loads it: dynamic import, default export or namespace.
// argv: manifest file, output file. The output goes to a file, because the module may print to stdout.
import { writeFileSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [file, output] = process.argv.slice(-2);

function lostInJson(value, path, seen) {
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
    return `${path} is a ${typeof value}`;
  }
  if (typeof value === "number" && !Number.isFinite(value)) return `${path} is ${value}`;
  if (value === null || typeof value !== "object") return null;
  if (seen.has(value)) return `${path} refers back to an object that contains it`;
  const prototype = Object.getPrototypeOf(value);
  const plain = Array.isArray(value) || prototype === Object.prototype || prototype === null;
  if (!plain) return `${path} is an instance of ${prototype?.constructor?.name ?? "a class"}`;
  const inside = new Set(seen).add(value);
  for (const key of Object.keys(value)) {
    if (Array.isArray(value) && value[key] === undefined) return `${path}[${key}] is undefined`;
    const step = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    const lost = lostInJson(value[key], step, inside);
    if (lost) return lost;
  }
  return null;
}

async function load() {
  const url = pathToFileURL(file);
  url.searchParams.set("mtime", String(statSync(file).mtimeMs));
  let module;
  try {
    module = await import(url.href);
  } catch (error) {
    return { thrown: String(error) };
  }
  const manifest = module.default ?? { ...module };
  const lost = lostInJson(manifest, "$", new Set());
  return lost ? { lost } : { manifest };
}

writeFileSync(output, JSON.stringify(await load()));
process.exit(0);

// The same calls made the way the host makes them: a child process, readline, JSON, a timer for each call.
// Usage: node host_way.mjs CALLS COMMAND [ARGUMENTS ...]; measures a batch for each line of stdin, in seconds a call.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [calls, command, ...rest] = process.argv.slice(2);
const child = spawn(command, rest, { stdio: ["pipe", "pipe", "pipe"] });
child.stderr.resume();

const pending = new Map();
let nextId = 1;

createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => {
  if (!line.trim()) return;
  const message = JSON.parse(line);
  const waiting = pending.get(message.id);
  if (waiting === undefined) return;
  clearTimeout(waiting.timer);
  pending.delete(message.id);
  if ("error" in message) waiting.reject(new Error(message.error.message));
  else waiting.resolve(message.result);
});

function call(method, params, milliseconds) {
  const id = nextId++;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      pending.delete(id);
      reject(new Error(`${method} timed out`));
    }, milliseconds);
    pending.set(id, { resolve, reject, timer });
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  });
}

for await (const _ of createInterface({ input: process.stdin })) {
  const started = performance.now();
  await Promise.all(
    Array.from({ length: Number(calls) }, (_item, index) => call("echo", { number: index, text: "a few words" }, 30_000)),
  );
  process.stdout.write(`${(performance.now() - started) / 1000 / Number(calls)}\n`);
}
child.stdin.end();

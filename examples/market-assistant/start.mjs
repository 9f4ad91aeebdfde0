/**
 * `npm start` runs this file: it checks that this machine can run the example, then imports main.ts. It is plain
 * JavaScript, so that an old Node prints what is wrong instead of failing on TypeScript.
 */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `The example needs Node 22.19 or newer, got ${process.versions.node}. See https://nodejs.org`,
  );
  process.exitCode = 1;
} else {
  try {
    await import("./main.ts");
  } catch (error) {
    if (error?.code !== "ERR_MODULE_NOT_FOUND") throw error;
    console.error(`${error.message}\n\nRun "npm ci" in the root of the repository first.`);
    process.exitCode = 1;
  }
}

/**
 * What `npm start` runs: looks whether this machine can run the example at all, then hands over to main.ts. Plain
 * JavaScript, so that an old Node says what is wrong instead of failing on TypeScript.
 */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `This needs Node 22.19 or newer, and this is ${process.versions.node}. See https://nodejs.org`,
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

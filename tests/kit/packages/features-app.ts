/**
 * An app with the features that its arguments name, on PGlite. Prints what an agent answers, and the status of a route of
 * each feature. scripts/check-installed.ts copies it into folders that have only the packages of these features.
 */
import { createKey, defineAgent, type ServerFeature, turnstream } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";

const TENANT = "default";
const ROUTES = { server: "/sessions", knowledge: "/knowledge", payments: "/payments?flagged=true" };

async function importFeature(name: string): Promise<ServerFeature> {
  if (name === "knowledge") return (await import("@turnstream/knowledge")).knowledge();
  const { payments } = await import("@turnstream/payments");
  const { startPaymentSandbox } = await import("@turnstream/payments/sandbox");
  const sandbox = await startPaymentSandbox();
  return payments({ providers: [sandbox.provider()], publicUrl: "http://127.0.0.1" });
}

const app = turnstream({
  agents: [defineAgent({ name: "a", title: false, model: scriptedModel([[script.text("Hello.")]]) })],
  features: await Promise.all(process.argv.slice(2).map(importFeature)),
  user: () => "an",
  print: false,
});
const { id } = await app.sessions.create({ user: "an" });
const answer = await app.sessions.ask(id, "Hi");
const { secret } = await createKey((await app.parts()).store, TENANT, { name: "check", scopes: [] });
const url = await app.listen(0);
const statuses = await Promise.all(
  Object.entries(ROUTES).map(async ([name, path]) => {
    const headers = { "x-api-key": secret, "x-user-id": "an" };
    return [name, (await fetch(`${url}/api/v1${path}`, { headers })).status] as const;
  }),
);
console.log(JSON.stringify({ answer, ...Object.fromEntries(statuses) }));
await app.close();
// The sandbox still listens.
process.exit();

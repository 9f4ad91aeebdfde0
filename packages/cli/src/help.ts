/** What `--help` says. Text only. */

export const HELP = `turnstream: works on the database of a Turnstream server.

Commands:
  migrate             brings the database to the tables of this version, the engine's too
  keys create         makes an API key, for a new tenant too
  keys list           lists the keys of a tenant
  keys revoke         revokes one, for good
  knowledge import    brings a folder of texts into a knowledge base
  knowledge list      lists the bases of a tenant, or the objects of a base
  knowledge remove    removes an object, or a whole base

The database is the one that DATABASE_URL names, in the environment.

Examples:
  turnstream migrate
  turnstream keys create --tenant acme --new-tenant --name "our backend"
  turnstream knowledge import ./handbook --tenant acme --base handbook
  turnstream keys --help
  turnstream knowledge --help
  turnstream --version
`;

export const KEYS_HELP = `turnstream keys: what lets programs in.

  turnstream keys create --tenant <id> --name <what for> [options]
      Prints the secret, this once: only its hash is kept.
      --new-tenant          also makes the tenant, if there is none of that id
      --scope <scope>       what it may do: read, write, decide, share, knowledge or tokens. More than once
                            for several; everything of the tenant without

  turnstream keys list --tenant <id>
      The keys of a tenant: id, when it was used last, scopes, name.

  turnstream keys revoke --tenant <id> <key>
      By its id. Connections and tokens that it let in end within seconds.

Examples:
  turnstream keys create --tenant acme --new-tenant --name "our backend"
  KEY=$(turnstream keys create --tenant acme --name reports --scope read)
  turnstream keys revoke --tenant acme bb7f6f8c9d04a11c579b1376
`;

export const KNOWLEDGE_HELP = `turnstream knowledge: the texts that agents find and read.

  turnstream knowledge import <folder> --tenant <id> --base <name> [options]
      Reads .md, .txt, .html, .csv and .json files of the folder and those in it. Files that did not
      change since the last time are left as they are.
      --prune               also removes objects whose files are gone
      --url <prefix>        people read the files there: the prefix, followed by the path of the file
      --quiet               says nothing but the sum

  turnstream knowledge list --tenant <id> [--base <name>]
      The bases of a tenant, or the objects of a base: id, lines, title.

  turnstream knowledge remove --tenant <id> --base <name> <object>
  turnstream knowledge remove --tenant <id> --base <name> --all
      One object, or the base with all its objects.

Examples:
  DATABASE_URL=postgres://localhost/turnstream \\
    turnstream knowledge import ./handbook --tenant acme --base handbook --prune
  turnstream knowledge import ./site --tenant acme --base site --url https://example.com/
  turnstream knowledge list --tenant acme --base handbook
  turnstream knowledge remove --tenant acme --base handbook leave/old-policy.md
`;

/**
 * `objects` is migration 0030: bytes of blobs and uploads in an object storage.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. An object
 * has a row until it is deleted. Triggers mark the row when a session or an upload is deleted, whichever statement
 * deletes it, so the row has no foreign key.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  // `due_at` is null while a file uses the object. Otherwise the object is deleted at this time. `used` stays true after
  // the write has ended.
  `create table stored_objects (
    key text collate "C" primary key,
    tenant_id text not null,
    session_id text not null,
    due_at timestamptz(3),
    used boolean not null default false,
    deleting boolean not null default false,
    writable_until timestamptz(3) not null
  )`,
  `create index stored_objects_due on stored_objects (due_at) where due_at is not null`,
  `create index stored_objects_of_session on stored_objects (tenant_id, session_id)`,

  `alter table blobs alter column body drop not null, add column object_key text, add column digest text`,
  `alter table blobs add constraint blobs_have_bytes check ((body is null) <> (object_key is null)) not valid`,
  // `digest` is the declared content of an upload that a client sends to the storage.
  `alter table uploads add column object_key text, add column digest text`,

  `create function release_session_objects() returns trigger language plpgsql as $$
    begin
      update stored_objects set deleting = true, due_at = clock_timestamp()
        where tenant_id = old.tenant_id and session_id = old.id;
      return null;
    end $$`,
  `create trigger sessions_release_objects after delete on sessions
    for each row execute function release_session_objects()`,
  `create function release_upload_object() returns trigger language plpgsql as $$
    begin
      update stored_objects set deleting = true, due_at = clock_timestamp() where key = old.object_key;
      return null;
    end $$`,
  `create trigger uploads_release_object after delete on uploads
    for each row when (old.object_key is not null) execute function release_upload_object()`,
  `create trigger uploads_replace_object after update of object_key on uploads
    for each row when (old.object_key is distinct from new.object_key and old.object_key is not null)
    execute function release_upload_object()`,
];

export const objects: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};

-- The tables of an app that migrates with Kysely, with one migration of its own and names that Turnstream has too.
create table kysely_migration (
  name varchar(255) not null primary key,
  timestamp varchar(255) not null
);
create table kysely_migration_lock (
  id varchar(255) not null primary key,
  is_locked integer not null default 0
);
insert into kysely_migration values ('2024_init', '2024-05-01T00:00:00.000Z');
insert into kysely_migration_lock values ('migration_lock', 0);
create table payments (id bigint generated always as identity primary key, amount numeric not null);
create table tenants (id uuid primary key, slug text not null unique);
create table migrations (id integer primary key, name text not null);
insert into payments (amount) values (12.50);

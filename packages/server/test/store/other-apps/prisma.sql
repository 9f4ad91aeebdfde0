-- The tables of an app that migrates with Prisma.
create table _prisma_migrations (
  id varchar(36) primary key not null,
  checksum varchar(64) not null,
  finished_at timestamptz,
  migration_name varchar(255) not null,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz not null default now(),
  applied_steps_count integer not null default 0
);
insert into _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
values ('6f0b5d6e-2b7c-4a53-9a67-0f5a5c0d9d11', repeat('a', 64), now(), '20240501000000_init', 1);
create type "Role" as enum ('USER', 'ADMIN');
create table "User" (
  "id" text not null,
  "email" text not null,
  "role" "Role" not null default 'USER',
  constraint "User_pkey" primary key ("id")
);
create unique index "User_email_key" on "User" ("email");
create table "Session" (
  "id" text not null,
  "userId" text not null,
  constraint "Session_pkey" primary key ("id"),
  constraint "Session_userId_fkey" foreign key ("userId") references "User" ("id") on delete restrict on update cascade
);
insert into "User" ("id", "email") values ('u1', 'an@example.org');
insert into "Session" ("id", "userId") values ('s1', 'u1');

-- The tables of an app with Auth.js on PostgreSQL (@auth/pg-adapter), and a signed-in user.
create table verification_token (
  identifier text not null,
  expires timestamptz not null,
  token text not null,
  primary key (identifier, token)
);
create table accounts (
  id serial primary key,
  "userId" integer not null,
  type varchar(255) not null,
  provider varchar(255) not null,
  "providerAccountId" varchar(255) not null,
  refresh_token text,
  access_token text,
  expires_at bigint,
  id_token text,
  scope text,
  session_state text,
  token_type text
);
create table sessions (
  id serial primary key,
  "userId" integer not null,
  expires timestamptz not null,
  "sessionToken" varchar(255) not null
);
create table users (
  id serial primary key,
  name varchar(255),
  email varchar(255),
  "emailVerified" timestamptz,
  image text
);
insert into users (name, email) values ('An', 'an@example.org');
insert into sessions ("userId", expires, "sessionToken") values (1, '2030-01-01', 'a-token');

/** The languages of the gallery. */
import { en, type Strings } from "@turnstream/react";
import { vi } from "@turnstream/react/strings/vi";
import { zhCn } from "@turnstream/react/strings/zh-cn";
import type { Dress } from "./handle.ts";

export const WORDS: Readonly<Record<Dress["locale"], Strings>> = { en, vi, "zh-CN": zhCn };

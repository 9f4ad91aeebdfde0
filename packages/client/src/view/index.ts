/** `@turnstream/client/view`: what a UI shows of a session, without a framework. */
export {
  type Announcement,
  type AnnouncementOptions,
  type AnnouncementStrings,
  listAnnouncements,
} from "./announcements.ts";
export { type Attachment, type AttachmentInput, attachments, canSend, isAccepted } from "./attachments.ts";
export {
  type Channel,
  createThreadStore,
  isSameList,
  type Portion,
  portionsOf,
  type ThreadStore,
} from "./thread-store.ts";
export { follow, FOLLOWING, type Follow, type FollowInput, type Measure } from "./stick-to-bottom.ts";
export { type Group, type Outline, type PartName, type Step } from "./turn-layout.ts";

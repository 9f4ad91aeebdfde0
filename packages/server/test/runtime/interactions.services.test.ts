/** What people are asked in a turn, on PostgreSQL, Redis and DBOS. */
import { approvalContract } from "./approvals.contract.ts";
import { atOnceContract } from "./at-once.contract.ts";
import { formContract } from "./forms.contract.ts";
import { formInsideContract } from "./forms-inside.contract.ts";
import { questionContract } from "./questions.contract.ts";
import { realParts } from "./real-parts.ts";

approvalContract(realParts);
questionContract(realParts);
formContract(realParts);
formInsideContract(realParts);
atOnceContract(realParts);

/** The message with a file of 000: the file is read first, at index 0, then the model thinks and answers. Data only. */
import type { Story } from "../story.ts";

export const filesReport: Story = {
  name: "files-report",
  source: "000",
  ask: "Tóm tắt báo cáo này.",
  files: [
    {
      url: "https://example.com/ket-qua.pdf",
      pages: [["Revenue Q3: 15,300 billion VND", "Up 4 percent"], ["Outlook: stable"]],
    },
  ],
  agent: {
    name: "report-agent",
    model: "model-000",
    tools: {},
    answers: [
      [{ think: "Báo cáo có hai trang." }, { text: "Doanh thu quý 3 là **15.300 tỷ đồng**, tăng 4%." }],
    ],
  },
  outcomes: {},
  reloadAt: ["files.delta main", "thinking.delta main", "text.delta main"],
};

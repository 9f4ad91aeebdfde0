/** `postCheckoutForm` continues from the checkout page of a gateway to the payment provider, as a browser does. */

/** Sends the form of the page that opens a checkout to the provider. @returns the HTTP status */
export async function postCheckoutForm(page: string): Promise<number> {
  const action = /<form method="post" action="([^"]+)"/.exec(page)?.[1] ?? "";
  const body = new URLSearchParams();
  for (const [, name = "", value = ""] of page.matchAll(/name="(\w+)" value="([^"]*)"/g))
    body.append(name, value);
  const { status } = await fetch(action, { method: "POST", body });
  return status;
}

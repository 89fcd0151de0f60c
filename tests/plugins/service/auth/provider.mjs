// An OpenID provider for tests, on loopback: node provider.mjs ENTRY REDIRECT_URI METHOD. Prints its issuer. Its pages for
// developers sign in as whoever names itself; everybody is of the group "people".
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [entry, redirectUri, method] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(entry));
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const client = {
    client_id: "client",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    token_endpoint_auth_method: method,
  };
  if (method !== "none") client.client_secret = process.env.CLIENT_SECRET;
  const provider = new Provider(issuer, {
    clients: [client],
    pkce: { required: () => true },
    conformIdTokenClaims: false,
    claims: { openid: ["sub"], profile: ["groups"], email: ["email"] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: ["people"], email: `${id}@example.org` }) }),
  });
  server.on("request", provider.callback());
  console.log(issuer);
});

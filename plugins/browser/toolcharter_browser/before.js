// Before any script of a page: what has no business in a page that a program reads.
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport"]) {
  Object.defineProperty(globalThis, name, { value: undefined, writable: false, configurable: false });
}

#include "kube/model/volume.h"

#include <gmock/gmock.h>

#include "json/yaml.h"
#include "kube/model/daemon_set.h"

namespace lockstep::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

json::Doc Yaml(const char* text) { return json::ParseYaml(text).value().at(0); }

TEST(VolumeClaim, IsBoundWhenItsVolumeIsChosenAndBothAgree) {
  VolumeClaim claim =
      ParseVolumeClaim(Yaml("{spec: {volumeName: pv, storageClassName: fast, accessModes: "
                            "[ReadWriteOncePod]}, status: {phase: Bound}}"));
  EXPECT_TRUE(claim.bound());
  EXPECT_TRUE(claim.one_pod);
  EXPECT_EQ(claim.storage_class, "fast");
  EXPECT_FALSE(ParseVolumeClaim(Yaml("{spec: {volumeName: pv}, status: {phase: Pending}}")).bound());
  EXPECT_FALSE(ParseVolumeClaim(Yaml("{status: {phase: Bound}}")).bound());
  EXPECT_FALSE(ParseVolumeClaim(Yaml("{spec: 3, status: [1]}")).bound());
}

TEST(Volume, IsForOneNodeUnlessAModeOrItsKindSaysOtherwise) {
  EXPECT_TRUE(ParseVolume(Yaml("{spec: {accessModes: [ReadWriteOnce], csi: {driver: d}}}")).one_node);
  EXPECT_FALSE(
      ParseVolume(Yaml("{spec: {accessModes: [ReadWriteOnce, ReadOnlyMany], csi: {driver: d}}}")).one_node);
  EXPECT_FALSE(ParseVolume(Yaml("{spec: {accessModes: [ReadWriteOnce], nfs: {path: /}}}")).one_node);
  EXPECT_FALSE(ParseVolume(Yaml("{spec: {csi: {driver: d}}}")).one_node);
}

TEST(Volume, ReachesTheNodesOfItsAffinityAndItsZones) {
  Volume volume = ParseVolume(Yaml(R"(
metadata: {labels: {topology.kubernetes.io/zone: a__b}}
spec:
  nodeAffinity:
    required:
      nodeSelectorTerms:
        - matchExpressions: [{key: rack, operator: In, values: ["1"]}]
        - matchFields: [{key: metadata.name, operator: In, values: [node-9]}]
)"));
  EXPECT_TRUE(volume.Reaches("n", {{"rack", "1"}}));
  EXPECT_FALSE(volume.Reaches("n", {{"rack", "2"}}));
  EXPECT_TRUE(volume.Reaches("node-9", {}));
  EXPECT_TRUE(volume.Reaches("n", {{"rack", "1"}, {"topology.kubernetes.io/zone", "b"}}));
  EXPECT_FALSE(volume.Reaches("n", {{"rack", "1"}, {"topology.kubernetes.io/zone", "c"}}));
  EXPECT_FALSE(volume.Reaches("n", {{"rack", "1"}, {"topology.kubernetes.io/region", "r"}}));
}

TEST(Volume, WithAnAffinityThatCannotBeReadReachesNothing) {
  Volume volume = ParseVolume(Yaml("{spec: {nodeAffinity: {required: {nodeSelectorTerms: 3}}}}"));
  EXPECT_FALSE(volume.Reaches("n", {}));
}

TEST(CsiNode, LimitsAreOfDriversThatHaveOne) {
  VolumeLimits limits =
      ParseCsiNode(Yaml("{spec: {drivers: [{name: a, allocatable: {count: 5}}, {name: b}, {name: c, "
                        "allocatable: {count: -1}}, 7]}}"));
  EXPECT_EQ(limits, (VolumeLimits{{"a", 5}, {"c", 0}}));
}

TEST(PodVolumes, ClaimsAndWhatOnlyASchedulerCanProvide) {
  PodVolumes volumes = ParsePodVolumes(Yaml(R"(
volumes:
  - {name: a, persistentVolumeClaim: {claimName: data}}
  - {name: b, persistentVolumeClaim: {claimName: data, readOnly: true}}
  - {name: c, ephemeral: {volumeClaimTemplate: {}}}
  - {name: d, iscsi: {iqn: i}}
  - {name: e, emptyDir: {}}
  - {name: f, csi: {driver: inline}}
)"),
                                       "ns");
  EXPECT_THAT(volumes.claims, ElementsAre("ns/data"));
  EXPECT_THAT(volumes.unmet, ElementsAre("spec.volumes[3].iscsi"));
  EXPECT_THAT(ParsePodVolumes(Yaml("{volumes: {}}"), "ns").claims, IsEmpty());
}

TEST(PreferredNodes, WeightsOfMatchingTermsAddUp) {
  Result<std::vector<PreferredNodes>> preferred = ParsePreferredNodes(Yaml(R"(
affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 10, preference: {matchExpressions: [{key: a, operator: Exists}]}}
      - {weight: 5, preference: {matchFields: [{key: metadata.name, operator: In, values: [node-9]}]}}
      - {weight: 100, preference: {}}
)"));
  ASSERT_TRUE(preferred.ok()) << preferred.error().message;
  EXPECT_EQ(PreferenceFor(*preferred, "node-9", {{"a", ""}}), 15);
  EXPECT_EQ(PreferenceFor(*preferred, "m", {{"a", ""}}), 10);
  EXPECT_EQ(PreferenceFor(*preferred, "m", {}), 0);
  EXPECT_FALSE(
      ParsePreferredNodes(Yaml("{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
                               "[{weight: 101, preference: {}}]}}}"))
          .ok());
}

TEST(PodNeed, AnotherOperatingSystemIsNoPlace) {
  Result<PodNeed> need = ParsePodNeed(Yaml("{spec: {os: {name: windows}, containers: []}}"));
  ASSERT_TRUE(need.ok());
  EXPECT_FALSE(need->nodes.Matches("n", {{"kubernetes.io/os", "linux"}}));
  EXPECT_TRUE(need->nodes.Matches("n", {{"kubernetes.io/os", "windows"}}));
  EXPECT_TRUE(need->nodes.Matches("n", {}));
}

TEST(DaemonSet, BelongsOnCordonedAndSickNodes) {
  Result<DaemonSet> set =
      ParseDaemonSet(Yaml("{metadata: {name: d, namespace: n}, spec: {template: {metadata: {labels: {app: "
                          "d}}, spec: {hostNetwork: true, "
                          "containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}"));
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ(set->labels.at("app"), "d");
  for (const char* key :
       {"unschedulable", "disk-pressure", "memory-pressure", "pid-pressure", "network-unavailable"})
    EXPECT_TRUE(BelongsOn(*set, "n", {}, {{std::string("node.kubernetes.io/") + key, "", "NoSchedule"}}))
        << key;
  EXPECT_TRUE(BelongsOn(*set, "n", {}, {{"node.kubernetes.io/not-ready", "", "NoExecute"}}));
  EXPECT_FALSE(BelongsOn(*set, "n", {}, {{"node.kubernetes.io/not-ready", "", "NoSchedule"}}));
  EXPECT_FALSE(BelongsOn(*set, "n", {}, {{"team", "", "NoSchedule"}}));
  EXPECT_FALSE(ParseDaemonSet(Yaml("{metadata: {name: d}, spec: {}}")).ok());
}

}  // namespace
}  // namespace lockstep::kube
